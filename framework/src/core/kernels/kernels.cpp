// The table of kernels, and which one a request takes.
#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "core/kernels/kernel.h"

namespace headwright {
namespace core {

namespace {

std::vector<std::unique_ptr<Kernel>> make_kernels() {
  std::vector<std::unique_ptr<Kernel>> made;
#define HEADWRIGHT_MADE(name) made.push_back(name##_kernel());
  HEADWRIGHT_KERNELS(HEADWRIGHT_MADE)
#undef HEADWRIGHT_MADE
  return made;
}

std::optional<std::string> why_not(const Kernel& kernel, const Scoring& scoring) {
  if (torch::jit::tracer::isTracing() && !kernel.exportable()) return "be exported";
  return kernel.cannot(scoring);
}

struct Chosen {
  const Kernel* kernel;
  std::string reason;
};

Chosen forced(const Scoring& scoring) {
  std::string known = "auto";
  for (const auto& kernel : kernels()) {
    known += ", " + kernel->name();
    if (scoring.kernel != kernel->name()) continue;
    const auto obstacle = why_not(*kernel, scoring);
    if (!obstacle) return {kernel.get(), "forced"};
    throw Error("[attend] kernel '" + kernel->name() + "' cannot " + *obstacle + "; use 'reference' or 'auto'");
  }
  throw Error("[attend] kernel: got '" + scoring.kernel + "', expected one of " + known);
}

/// By what is asked, never by sizes, so that what is reported before a run holds for every input.
Chosen chosen_for(const Scoring& scoring) {
  if (scoring.kernel != "auto") return forced(scoring);
  for (const auto& kernel : kernels()) {
    const auto preferred = kernel->preferred_for(scoring);
    if (preferred && !why_not(*kernel, scoring)) return {kernel.get(), *preferred};
  }
  std::string reason;
  for (const auto& kernel : kernels()) {
    const auto obstacle = why_not(*kernel, scoring);
    if (!obstacle) return {kernel.get(), reason.empty() ? "the first that can" : reason};
    reason += (reason.empty() ? "" : "; ") + kernel->name() + " cannot " + *obstacle;
  }
  throw Error("[attend] no kernel can compute this: " + reason);
}

}  // namespace

Kernel::~Kernel() = default;

const std::vector<std::unique_ptr<Kernel>>& kernels() {
  static const auto table = make_kernels();
  return table;
}

const Kernel& kernel_for(const Scoring& scoring) { return *chosen_for(scoring).kernel; }

}  // namespace core

KernelChoice choose_kernel(const Scoring& scoring) {
  const auto chosen = core::chosen_for(scoring);
  return {scoring.kernel, chosen.kernel->name(), chosen.reason};
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const auto& kernel : core::kernels()) names.push_back(kernel->name());
  return names;
}

}  // namespace headwright
