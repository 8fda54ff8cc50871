// Checks a request, chooses its kernel, and runs it.
#include "headwright/attend.h"

#include <ATen/ATen.h>

#include "core/kernels/kernel.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

void expect_like_k(std::string_view name, const at::Tensor& x, const at::Tensor& k) {
  if (x.scalar_type() == k.scalar_type() && x.device() == k.device()) return;
  const auto text = [](const at::Tensor& t) {
    return std::string(toString(t.scalar_type())) + " on " + t.device().str();
  };
  throw ShapeError("[attend] " + std::string(name) + ": got " + text(x) + ", expected " + text(k) + " as in k");
}

void check_values(const at::Tensor& v, const at::Tensor& k) {
  if (v.dim() != 4 || v.size(0) != k.size(0) || v.size(1) != k.size(1) || v.size(2) != k.size(2)) {
    refuse_shape("attend", "v", v, "(batch, n_kv_heads, k_len, d_value) as k " + shape_text(k));
  }
  expect_like_k("v", v, k);
}

/// (batch, k_len) beside k, of a type.
void check_of_keys(const char* name, const at::Tensor& x, const at::Tensor& k, at::ScalarType type,
                   const char* expected) {
  if (!x.defined()) return;
  if (x.dim() != 2 || x.size(0) != k.size(0) || x.size(1) != k.size(2)) {
    refuse_shape("attend", name, x, "(batch, k_len) as in k " + shape_text(k));
  }
  if (x.scalar_type() == type) return;
  throw ShapeError("[attend] " + std::string(name) + ": got " + std::string(toString(x.scalar_type())) + ", expected " +
                   expected);
}

void check_positions(const char* name, const at::Tensor& positions, const at::Tensor& x, const char* of) {
  const bool fits = positions.dim() >= 1 && positions.dim() <= 2 && positions.size(-1) == x.size(2) &&
                    (positions.dim() == 1 || positions.size(0) == x.size(0));
  if (!fits)
    refuse_shape("attend", name, positions, std::string("(length) or (batch, length) of ") + of + " " + shape_text(x));
}

void check_normaliser(const at::Tensor& q, const Scoring& scoring) {
  const bool sigmoid = scoring.normaliser == Normaliser::sigmoid;
  if (sigmoid && scoring.needs_lse) throw Error("[attend] lse: the sigmoid normaliser has none");
  if (!sigmoid && scoring.sigmoid_bias) throw Error("[attend] sigmoid_bias: only the sigmoid normaliser has one");
  if (!scoring.sink.defined()) return;
  if (scoring.normaliser != Normaliser::softmax) throw Error("[attend] sink: only the softmax normaliser has one");
  if (scoring.sink.dim() != 1 || scoring.sink.size(0) != q.size(1)) {
    refuse_shape("attend", "sink", scoring.sink, "(n_heads) as in q " + shape_text(q));
  }
}

}  // namespace

Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring) {
  core::check_query(q, k);
  check_values(v, k);
  core::check_scoring(q, k, scoring);
  return core::kernel_for(scoring).run({q, k, v, scoring});
}

namespace core {

void check_query(const at::Tensor& q, const at::Tensor& k) {
  if (q.dim() != 4) refuse_shape("attend", "q", q, "(batch, n_heads, q_len, d_head)");
  if (k.dim() != 4) refuse_shape("attend", "k", k, "(batch, n_kv_heads, k_len, d_head)");
  const auto like_k = " as in k " + shape_text(k);
  if (q.size(3) != k.size(3)) refuse_shape("attend", "q", q, "d_head = " + std::to_string(k.size(3)) + like_k);
  if (q.size(0) != k.size(0)) refuse_shape("attend", "q", q, "batch = " + std::to_string(k.size(0)) + like_k);
  if (k.size(1) == 0 || q.size(1) % k.size(1) != 0) {
    refuse_shape("attend", "q", q, "a multiple of the " + std::to_string(k.size(1)) + " heads of k " + shape_text(k));
  }
  expect_like_k("q", q, k);
}

void check_scoring(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  if (scoring.same_sequence && q.size(2) != k.size(2)) {
    refuse_shape("attend", "q", q, "the length of k " + shape_text(k) + ", since both are one sequence");
  }
  check_of_keys("key_mask", scoring.key_mask, k, at::kBool, "bool, true = visible");
  check_of_keys("document_ids", scoring.document_ids, k, at::kLong, "int64");
  if (scoring.document_ids.defined() && q.size(2) > k.size(2)) {
    refuse_shape("attend", "q", q, "at most the length of k " + shape_text(k) + ", whose document ids it shares");
  }
  if (scoring.q_positions.defined() != scoring.k_positions.defined()) {
    throw Error("[attend] positions: got those of q or of k alone, expected both or neither");
  }
  if (scoring.q_positions.defined()) check_positions("q_positions", scoring.q_positions, q, "q");
  if (scoring.k_positions.defined()) check_positions("k_positions", scoring.k_positions, k, "k");
  check_normaliser(q, scoring);
}

}  // namespace core
}  // namespace headwright
