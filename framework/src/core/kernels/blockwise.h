// The parts of the blockwise kernel: what one rectangle of scores is, forward and backward.
#pragma once
#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "core/kernels/blockwise_blocks.h"
#include "core/kernels/kernel.h"

namespace headwright::core {

/// Tensors of the modifiers that need a gradient, each once.
std::vector<at::Tensor> learned_in(const Scoring& scoring);

/// A request cut into rectangles, on plain tensors without gradient.
///
/// Heads that share a key head lie behind each other, so that scores are (batch * n_kv_heads, group * rows, keys) for
/// the products, and the same memory is (batch, n_heads, rows, keys) for masks and modifiers.
class Blockwise {
 public:
  Blockwise(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring);
  Blockwise(at::Tensor q, at::Tensor k, at::Tensor v, const Scoring& scoring, const BlockSizes& sizes);

  struct Result {
    at::Tensor y;    // (batch, n_heads, q_len, d_value) in v's dtype
    at::Tensor lse;  // (batch, n_heads, q_len) in float32 or float64; empty for the sigmoid
  };
  Result forward() const;

  struct Gradients {
    at::Tensor q, k, v;
    std::vector<at::Tensor> learned;  // as learned_in(scoring)
    at::Tensor sink;                  // (n_heads); undefined where no sink is learned
  };
  /// dy, dlse: of y and lse; undefined = zero.
  Gradients backward(const Result& result, const at::Tensor& dy, const at::Tensor& dlse) const;

 private:
  struct Running;    // sums over the ranges of a block of queries
  struct RowSums;    // of a block of queries, for its gradients
  struct Rectangle;  // scores, with the graph behind them where modifiers have to be differentiated

  at::Tensor queries_of(const at::Tensor& x, const QueryBlock& block) const;  // (batch * n_kv_heads, group * rows, d)
  static at::Tensor keys_of(const at::Tensor& x, const KeyRange& range);      // (batch * n_kv_heads, keys, d)
  at::Tensor by_head(const at::Tensor& x, const QueryBlock& block) const;     // (batch, n_heads, rows, ...)
  at::Tensor modified(const at::Tensor& scores, const QueryBlock& block, const KeyRange& range) const;
  void hide(const at::Tensor& scores, const QueryBlock& block, const KeyRange& range, double value) const;

  at::Tensor share_of_keys(const at::Tensor& lse) const;

  void softmax_rows(const QueryBlock& block, Result& result) const;
  void sigmoid_rows(const QueryBlock& block, Result& result) const;

  Rectangle rectangle(const at::Tensor& q, const QueryBlock& block, const KeyRange& range) const;
  at::Tensor score_gradient(const Rectangle& rectangle, const at::Tensor& of_modified, Gradients& gradients) const;
  RowSums row_sums(const QueryBlock& block, const Result& result, const at::Tensor& dy, const at::Tensor& dlse,
                   Gradients& gradients) const;
  void rows_backward(const QueryBlock& block, const at::Tensor& dy, const RowSums& sums, Gradients& gradients) const;

  bool sigmoid() const { return scoring_.normaliser == Normaliser::sigmoid; }

  const at::Tensor q_, k_, v_;
  const Scoring& scoring_;
  const MaskInputs inputs_;
  const ScorePositions place_;
  const double scale_;
  std::vector<at::Tensor> learned_;
  std::vector<QueryBlock> blocks_;
};

}  // namespace headwright::core
