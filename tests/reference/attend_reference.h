// Softmax attention written as loops over doubles. Shares no code with the framework: what both get right is right.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace reference {

/// A dense tensor of four dimensions.
struct Tensor4 {
  std::array<long, 4> sizes;
  std::vector<double> data;

  Tensor4(long a, long b, long c, long d) : sizes{a, b, c, d}, data(static_cast<std::size_t>(a * b * c * d), 0.0) {}
  std::size_t index(long a, long b, long c, long d) const {
    return static_cast<std::size_t>(((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d);
  }
  double& at(long a, long b, long c, long d) { return data[index(a, b, c, d)]; }
  double at(long a, long b, long c, long d) const { return data[index(a, b, c, d)]; }
};

enum class Normaliser { softmax, sigmoid };

struct Problem {
  Tensor4 q, k, v;  // (batch, n_heads, q_len, d_head), (batch, n_kv_heads, k_len, d_head) twice
  double scale = 1;
  double cap = 0;                                              // of the softcap; 0 = none
  std::function<bool(long batch, long query, long key)> sees;  // by index from the start
  std::function<double(long head, long query, long key)> bias = nullptr;
  bool bias_first = true;    // before the cap
  std::vector<double> sink;  // a logit per head; empty = none
  Normaliser normaliser = Normaliser::softmax;
  double sigmoid_bias = 0;

  long group() const { return q.sizes[1] / k.sizes[1]; }
  long k_len() const { return k.sizes[2]; }
};

/// One query: its batch row b, head h and position i; kv is the key head that it reads.
struct Row {
  long b, h, i, kv;
};

template <class Visit>
void for_each_row(const Problem& p, const Visit& visit) {
  for (long b = 0; b < p.q.sizes[0]; ++b) {
    for (long h = 0; h < p.q.sizes[1]; ++h) {
      for (long i = 0; i < p.q.sizes[2]; ++i) visit(Row{b, h, i, h / p.group()});
    }
  }
}

inline double scaled_product(const Problem& p, const Row& r, long j) {
  double product = 0;
  for (long c = 0; c < p.q.sizes[3]; ++c) product += p.q.at(r.b, r.h, r.i, c) * p.k.at(r.b, r.kv, j, c);
  return product * p.scale;
}

/// The score that the normaliser sees, and its slope as the scaled product grows.
inline std::pair<double, double> score_of(const Problem& p, const Row& r, long j) {
  const double bias = p.bias ? p.bias(r.h, r.i, j) : 0;
  double score = scaled_product(p, r, j) + (p.bias_first ? bias : 0), slope = 1;
  if (p.cap > 0) {
    const double t = std::tanh(score / p.cap);
    score = p.cap * t;
    slope = 1 - t * t;
  }
  return {score + (p.bias_first ? 0 : bias), slope};
}

struct Result {
  Tensor4 y, lse, weights;  // (batch, n_heads, q_len, d_head), (..., q_len, 1), (..., q_len, k_len)
};

inline void attend_row(const Problem& p, const Row& r, Result& result) {
  const bool sigmoid = p.normaliser == Normaliser::sigmoid;
  double sum = 0;
  for (long j = 0; j < p.k_len(); ++j) {
    if (!p.sees(r.b, r.i, j)) continue;
    const double score = score_of(p, r, j).first;
    result.weights.at(r.b, r.h, r.i, j) = sigmoid ? 1 / (1 + std::exp(-score - p.sigmoid_bias)) : std::exp(score);
    sum += std::exp(score);
  }
  result.lse.at(r.b, r.h, r.i, 0) = sum > 0 ? std::log(sum) : -std::numeric_limits<double>::infinity();
  if (sum == 0) return;
  if (sigmoid) sum = 1;
  if (!p.sink.empty()) sum += std::exp(p.sink[static_cast<std::size_t>(r.h)]);
  for (long j = 0; j < p.k_len(); ++j) {
    const double weight = result.weights.at(r.b, r.h, r.i, j) /= sum;
    for (long c = 0; c < p.v.sizes[3]; ++c) result.y.at(r.b, r.h, r.i, c) += weight * p.v.at(r.b, r.kv, j, c);
  }
}

inline Result attend(const Problem& p) {
  const auto [batch, heads, q_len, d_head] = p.q.sizes;
  Result result{{batch, heads, q_len, p.v.sizes[3]}, {batch, heads, q_len, 1}, {batch, heads, q_len, p.k_len()}};
  for_each_row(p, [&](const Row& row) { attend_row(p, row, result); });
  return result;
}

struct Gradients {
  Tensor4 q, k, v;
  std::vector<double> sink;                                                                 // (n_heads)
  std::function<void(long head, long query, long key, double gradient)> of_bias = nullptr;  // called for each pair
};

/// dy, dlse: what the loss says of y and lse.
inline void add_gradients(const Problem& p, const Row& r, const Tensor4& weights, const Tensor4& dy, double dlse,
                          Gradients& g) {
  std::vector<double> dweight;  // of each key's weight
  double mean = 0, seen = 0;    // of them, by weight; the sum of the weights, less than 1 where there is a sink
  for (long j = 0; j < p.k_len(); ++j) {
    const double weight = weights.at(r.b, r.h, r.i, j);
    double dw = 0;
    for (long c = 0; c < p.v.sizes[3]; ++c) {
      dw += dy.at(r.b, r.h, r.i, c) * p.v.at(r.b, r.kv, j, c);
      g.v.at(r.b, r.kv, j, c) += dy.at(r.b, r.h, r.i, c) * weight;
    }
    dweight.push_back(dw);
    mean += dw * weight;
    seen += weight;
  }
  if (seen == 0) return;
  if (!p.sink.empty()) g.sink[static_cast<std::size_t>(r.h)] -= (1 - seen) * mean;
  for (long j = 0; j < p.k_len(); ++j) {
    if (!p.sees(r.b, r.i, j)) continue;
    const double weight = weights.at(r.b, r.h, r.i, j), dw = dweight[static_cast<std::size_t>(j)];
    double dscore = weight * (dw - mean) + weight / seen * dlse;
    if (p.normaliser == Normaliser::sigmoid) dscore = weight * (1 - weight) * dw;
    const double slope = score_of(p, r, j).second;
    if (g.of_bias) g.of_bias(r.h, r.i, j, p.bias_first ? dscore * slope : dscore);
    for (long c = 0; c < p.q.sizes[3]; ++c) {
      g.q.at(r.b, r.h, r.i, c) += dscore * slope * p.scale * p.k.at(r.b, r.kv, j, c);
      g.k.at(r.b, r.kv, j, c) += dscore * slope * p.scale * p.q.at(r.b, r.h, r.i, c);
    }
  }
}

/// Of sum(y * dy) + sum(lse * dlse) over the rows that see something.
inline Gradients gradients(const Problem& p, const Tensor4& dy, const Tensor4& dlse,
                           std::function<void(long, long, long, double)> of_bias = nullptr) {
  const auto weights = attend(p).weights;
  Gradients g{p.q, p.k, p.v, std::vector<double>(static_cast<std::size_t>(p.q.sizes[1]), 0.0), std::move(of_bias)};
  for (auto* each : {&g.q, &g.k, &g.v}) each->data.assign(each->data.size(), 0.0);
  for_each_row(p, [&](const Row& r) { add_gradients(p, r, weights, dy, dlse.at(r.b, r.h, r.i, 0), g); });
  return g;
}

}  // namespace reference
