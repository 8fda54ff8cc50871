// A variant under test: makes it, draws inputs that it takes, and calls it, whatever its kind.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "headwright/attention.h"
#include "headwright/variant.h"

namespace headwright::check {

using Module = std::shared_ptr<torch::nn::Module>;

class Subject {
 public:
  Subject(const VariantSpec& variant, const Dims& dims, const ParamMap& values);

  /// The same variant with a row called `dropout`, if it has one, set to a half.
  Subject with_dropout() const;

  /// The row of this name and type, no list; null = the variant has none.
  const ParamSpec* row(const std::string& name, ParamType type) const;

  /// The same variant with one value changed.
  Subject with(const std::string& row, const Value& value) const;

  /// A module in eval mode, its parameters drawn from `seed`; what is tied gets a matrix of its own.
  Module make(at::ScalarType dtype = at::kDouble, std::uint64_t seed = 123) const;

  /// Why the kernel that the dims force cannot compute this, in eval or in training; empty = it can.
  std::string kernel_obstacle(bool training = false) const;

  /// Random x, as the variant takes it, and a memory where one is claimed or x is none. Float64, token ids int64.
  Inputs draw(std::int64_t batch, std::int64_t seq, std::uint64_t seed = 7) const;

  /// y: (batch, seq, width), or (batch, width) of a head that pools. A position gives what its hooks make of x.
  at::Tensor call(torch::nn::Module& module, const Inputs& inputs) const;

  /// Lengths that are tried, odd and within context_length: one for questions about each token, and one past the
  /// chunks and tiles in which variants and kernels work.
  std::int64_t longest() const;
  std::int64_t many() const;
  std::int64_t d_in() const;
  std::int64_t d_out() const;

  /// x is one row of features or one id for each token of the output.
  bool per_token() const;

  const VariantSpec& variant;
  const Dims dims;
  const ParamMap values;
  const Claims claims;

 private:
  void tie(torch::nn::Module& module) const;
  at::Tensor place(Position& position, const Inputs& inputs) const;
};

/// The largest difference between two tensors of one shape; infinite where one of them is not finite.
double difference(const at::Tensor& a, const at::Tensor& b);

/// A difference in three digits, however small: 0.119, 2.98e-09.
std::string amount(double difference);

std::string message_of(const std::exception& error);

/// The inputs with features in `dtype`; ids and masks as they are.
Inputs cast(Inputs inputs, at::ScalarType dtype);

bool all_finite(const at::Tensor& x);

}  // namespace headwright::check
