// Softmax attention written as loops over doubles. Shares no code with the framework: what both get right is right.
#pragma once
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace reference {

/// A dense tensor of four dimensions.
struct Tensor4 {
  long sizes[4]{};
  std::vector<double> data;

  Tensor4(long a, long b, long c, long d) : sizes{a, b, c, d}, data(static_cast<std::size_t>(a * b * c * d), 0.0) {}
  double& at(long a, long b, long c, long d) {
    return data[static_cast<std::size_t>(((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d)];
  }
  double at(long a, long b, long c, long d) const { return const_cast<Tensor4*>(this)->at(a, b, c, d); }
};

struct Problem {
  Tensor4 q, k, v;  // (batch, n_heads, q_len, d_head), (batch, n_kv_heads, k_len, d_head) twice
  double scale = 1;
  double cap = 0;                                              // of the softcap; 0 = none
  std::function<bool(long batch, long query, long key)> sees;  // by index from the start
};

struct Result {
  Tensor4 y, lse, weights;  // (batch, n_heads, q_len, d_head), (..., q_len, 1), (..., q_len, k_len)
};

inline Result attend(const Problem& p) {
  const long batch = p.q.sizes[0], heads = p.q.sizes[1], q_len = p.q.sizes[2], d = p.q.sizes[3];
  const long k_len = p.k.sizes[2], group = heads / p.k.sizes[1], d_v = p.v.sizes[3];
  Result r{{batch, heads, q_len, d_v}, {batch, heads, q_len, 1}, {batch, heads, q_len, k_len}};
  for (long b = 0; b < batch; ++b) {
    for (long h = 0; h < heads; ++h) {
      for (long i = 0; i < q_len; ++i) {
        double sum = 0;
        for (long j = 0; j < k_len; ++j) {
          if (!p.sees(b, i, j)) continue;
          double score = 0;
          for (long c = 0; c < d; ++c) score += p.q.at(b, h, i, c) * p.k.at(b, h / group, j, c);
          score *= p.scale;
          if (p.cap > 0) score = p.cap * std::tanh(score / p.cap);
          r.weights.at(b, h, i, j) = std::exp(score);
          sum += std::exp(score);
        }
        r.lse.at(b, h, i, 0) = sum > 0 ? std::log(sum) : -std::numeric_limits<double>::infinity();
        for (long j = 0; j < k_len; ++j) {
          if (sum > 0) r.weights.at(b, h, i, j) /= sum;
          for (long c = 0; c < d_v; ++c) r.y.at(b, h, i, c) += r.weights.at(b, h, i, j) * p.v.at(b, h / group, j, c);
        }
      }
    }
  }
  return r;
}

struct Gradients {
  Tensor4 q, k, v;
};

/// Of sum(y * dy) + sum(lse * dlse) over the rows that see something.
inline Gradients gradients(const Problem& p, const Tensor4& dy, const Tensor4& dlse) {
  const Result r = attend(p);
  const long heads = p.q.sizes[1], d = p.q.sizes[3], k_len = p.k.sizes[2], group = heads / p.k.sizes[1];
  Gradients g{p.q, p.k, p.v};
  for (auto* each : {&g.q, &g.k, &g.v}) each->data.assign(each->data.size(), 0.0);
  for (long b = 0; b < p.q.sizes[0]; ++b) {
    for (long h = 0; h < heads; ++h) {
      for (long i = 0; i < p.q.sizes[2]; ++i) {
        double dot_of_row = 0;  // sum over keys of weight times its gradient
        std::vector<double> dweight(static_cast<std::size_t>(k_len), 0.0);
        for (long j = 0; j < k_len; ++j) {
          double& dw = dweight[static_cast<std::size_t>(j)];
          for (long c = 0; c < p.v.sizes[3]; ++c) {
            dw += dy.at(b, h, i, c) * p.v.at(b, h / group, j, c);
            g.v.at(b, h / group, j, c) += dy.at(b, h, i, c) * r.weights.at(b, h, i, j);
          }
          dot_of_row += dw * r.weights.at(b, h, i, j);
        }
        for (long j = 0; j < k_len; ++j) {
          if (!p.sees(b, i, j)) continue;
          double dscore =
              r.weights.at(b, h, i, j) * (dweight[static_cast<std::size_t>(j)] - dot_of_row + dlse.at(b, h, i, 0));
          if (p.cap > 0) {
            double raw = 0;
            for (long c = 0; c < d; ++c) raw += p.q.at(b, h, i, c) * p.k.at(b, h / group, j, c);
            dscore *= 1 - std::pow(std::tanh(raw * p.scale / p.cap), 2);
          }
          for (long c = 0; c < d; ++c) {
            g.q.at(b, h, i, c) += dscore * p.scale * p.k.at(b, h / group, j, c);
            g.k.at(b, h / group, j, c) += dscore * p.scale * p.q.at(b, h, i, c);
          }
        }
      }
    }
  }
  return g;
}

}  // namespace reference
