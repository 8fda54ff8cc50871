// The shipped layers as loops over doubles. Shares no code with the framework: what both get right is right.
#pragma once
#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace loops {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // one sequence: [token][feature]

/// t: (rows, columns) or (columns), float64
inline Rows rows_of(const at::Tensor& t) {
  const auto matrix = (t.dim() == 1 ? t.unsqueeze(0) : t).detach();
  const auto element = matrix.accessor<double, 2>();
  Rows rows(static_cast<std::size_t>(element.size(0)), Row(static_cast<std::size_t>(element.size(1))));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < rows[i].size(); ++c) {
      rows[i][c] = element[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(c)];
    }
  }
  return rows;
}

/// weight: [out][in]; an empty bias adds nothing
inline Rows linear(const Rows& x, const Rows& weight, const Row& bias) {
  Rows y;
  for (const auto& token : x) {
    Row out = bias.empty() ? Row(weight.size(), 0.0) : bias;
    for (std::size_t o = 0; o < weight.size(); ++o) {
      for (std::size_t i = 0; i < token.size(); ++i) out[o] += weight[o][i] * token[i];
    }
    y.push_back(out);
  }
  return y;
}

/// Softmax of q . k * scale over the keys that sees(query, key), then the weighted sum of v; zeros where none is seen.
inline Rows attention(const Rows& q, const Rows& k, const Rows& v, double scale,
                      const std::function<bool(std::size_t, std::size_t)>& sees) {
  Rows y;
  for (std::size_t i = 0; i < q.size(); ++i) {
    Row sum(v[0].size(), 0.0);
    double total = 0;
    for (std::size_t j = 0; j < k.size(); ++j) {
      if (!sees(i, j)) continue;
      double score = 0;
      for (std::size_t c = 0; c < q[i].size(); ++c) score += q[i][c] * k[j][c];
      const double weight = std::exp(score * scale);
      total += weight;
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += weight * v[j][c];
    }
    for (auto& value : sum) value = total > 0 ? value / total : 0;
    y.push_back(sum);
  }
  return y;
}

/// Columns [first, first + count) of each row.
inline Rows columns(const Rows& x, std::size_t first, std::size_t count) {
  Rows part;
  for (const auto& row : x)
    part.emplace_back(row.begin() + static_cast<long>(first), row.begin() + static_cast<long>(first + count));
  return part;
}

/// Puts b's columns after a's.
inline Rows beside(Rows a, const Rows& b) {
  if (a.empty()) return b;
  for (std::size_t i = 0; i < a.size(); ++i) a[i].insert(a[i].end(), b[i].begin(), b[i].end());
  return a;
}

}  // namespace loops
