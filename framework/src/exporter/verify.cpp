// Compares the exported modules with the running ones at other sizes, with masks, and after a cast.
#include "exporter/verify.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "exporter/dtypes.h"
#include "exporter/trace.h"
#include "headwright/errors.h"
#include "headwright/shapes.h"
#include "model/build.h"
#include "support/text.h"

namespace headwright::exporter {
namespace {

/// Of the largest element. The same operators run on the same numbers, so most results are equal bit for bit; what is
/// left room for is torch's fused form of the same sums, some units in the last place of the dtype.
double tolerance(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 1e-12;
    case at::kFloat:
      return 1e-5;
    case at::kHalf:
      return 5e-3;
    default:
      return 4e-2;  // bfloat16: 8 bits of mantissa
  }
}

struct Comparison {
  double error = std::numeric_limits<double>::infinity();
  std::string fault;  // empty = equal within the tolerance
};

at::Tensor call(torch::jit::Module module, const Signature& signature, const Inputs& inputs) {
  torch::jit::Stack stack;
  for (const auto& value : signature.values(inputs)) stack.push_back(value.defined() ? value : c10::IValue());
  return module.forward(std::move(stack)).toTensor();
}

Comparison compare(const torch::jit::Module& module, const Signature& signature, const Inputs& inputs,
                   const at::Tensor& expected) {
  try {
    const auto got = call(module, signature, inputs);
    if (got.sizes() != expected.sizes()) {
      return {.fault = "got shape " + shape_text(got) + ", expected " + shape_text(expected)};
    }
    if (got.scalar_type() != expected.scalar_type()) {
      return {.fault = std::string("got dtype ") + toString(got.scalar_type()) + ", expected " +
                       toString(expected.scalar_type())};
    }
    const auto error = max_abs_error(got, expected);
    const auto scale = expected.numel() == 0 ? 0 : expected.abs().nan_to_num(0, 0, 0).max().item<double>();
    const auto limit = tolerance(expected.scalar_type()) * std::max(1.0, scale);
    if (error <= limit) return {.error = error};
    return {.error = error,
            .fault = "got a largest difference of " + support::number_text(error) + ", expected at most " +
                     support::number_text(limit)};
  } catch (const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    return {.fault = support::printable(torch_error ? torch_error->what_without_backtrace() : error.what(), 400)};
  }
}

[[noreturn]] void refuse(const std::string& what, const Inputs& inputs, const std::string& fault) {
  throw Error(what + ": exported, it differs from the model at x " +
              (inputs.x.defined() ? shape_text(inputs.x) : "absent") +
              (inputs.memory.defined() ? ", memory " + shape_text(inputs.memory) : "") + ": " + fault);
}

/// What a call that leaves out the rest would be given.
Inputs only(const Signature& taken, const Inputs& inputs) { return taken.inputs(taken.values(inputs)); }

/// Why a trace holds at one size alone.
std::string cause_of(const Part& part, const Signature& choice, const Inputs& inputs) {
  auto again = part;  // another handle to the same modules
  if (const auto loop = loop_over_time(again, choice, inputs); !loop.empty()) {
    return "its forward loops over the tokens (" + loop +
           " run once more for each token), which a trace writes down for one length alone; write the loop in "
           "torchscript(), or use operators on the whole sequence";
  }
  const auto baked = baked_sizes(again, choice, inputs);
  return (baked.empty() ? "a size or a table is baked into its forward"
                        : "a size is baked into its forward (" + baked + ")") +
         ": see headwright/shapes.h, or claim it not";
}

/// The model as a whole differs: says which of its components does, each on inputs of its own.
[[noreturn]] void blame(const Script& script, const bind::Plan& plan, const Size& size, const Inputs& inputs,
                        const std::string& fault) {
  Samples samples(plan);
  const auto within = [](std::int64_t longest) { return longest > 0 ? std::min<std::int64_t>(6, longest) : 6; };
  const Size several{2, within(plan.model.dims.context_length), within(plan.model.longest_memory())};
  for (const auto& part : script.parts) {
    const auto all = part.sample(samples, size);
    for (const auto& choice : part.signature.calls()) {
      const auto own = only(choice, all);
      const auto found = compare(part.scripted, part.signature, own, part.eager(own));
      if (found.fault.empty()) continue;
      refuse(part.path + ": '" + part.variant + "' claims dynamic_export, but", own,
             found.fault + "; " + cause_of(part, choice, part.sample(samples, several)));
    }
  }
  refuse("the model", inputs, fault);
}

/// What is cast after loading must compute in the new dtype. Each component on its own, so that one of them at a time
/// is held twice.
void verify_casts(const Script& script, const bind::Plan& plan, const Size& size) {
  Samples samples(plan);
  for (const auto& part : script.parts) {
    const auto all = part.sample(samples, size);
    const auto own_dtype = dtype_of(*part.module, all);
    for (const auto dtype : kDtypes) {
      if (dtype == own_dtype) continue;
      const InDtype turned(*part.module, dtype);
      const auto inputs = cast(only(part.signature, all), dtype);
      at::Tensor expected;
      try {
        expected = part.eager(inputs);
      } catch (const std::exception&) {
        continue;  // torch has no such operator for this dtype, so the model itself cannot be run in it
      }
      const auto found = compare(part.scripted, part.signature, inputs, expected);
      if (!found.fault.empty()) {
        refuse(part.path + ": '" + part.variant + "', cast to " + model::dtype_name(dtype), inputs, found.fault);
      }
    }
  }
}

}  // namespace

double max_abs_error(const at::Tensor& got, const at::Tensor& expected) {
  if (got.numel() == 0) return 0;
  const auto a = got.to(at::kDouble), b = expected.to(at::kDouble);
  const auto same = a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
  const auto error = (a - b).abs().masked_fill(same, 0).max().item<double>();
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

std::vector<Check> verify(const Script& script, model::Model& model, const bind::Plan& plan,
                          const std::vector<Size>& sizes) {
  Samples samples(plan);
  std::vector<Check> checks;
  for (const auto& size : sizes) {
    const auto all = samples.inputs(size);
    Check check{.shape = (all.x.defined() ? all.x : all.memory).sizes().vec()};
    for (const auto& choice : script.signature.calls()) {
      const auto inputs = only(choice, all);
      const auto found = compare(script.module, script.signature, inputs, model.forward(inputs));
      if (!found.fault.empty()) blame(script, plan, size, inputs, found.fault);
      check.max_abs_error = std::max(check.max_abs_error, found.error);
    }
    checks.push_back(std::move(check));
  }
  if (!sizes.empty()) verify_casts(script, plan, sizes.front());
  return checks;
}

void verify_file(const torch::jit::Module& loaded, const Script& script, const bind::Plan& plan, const Size& size) {
  const auto inputs = only(script.signature.required(), Samples(plan).inputs(size));
  const auto found = compare(loaded, script.signature, inputs, call(script.module, script.signature, inputs));
  if (!found.fault.empty()) refuse("the file", inputs, found.fault);
}

}  // namespace headwright::exporter
