// Exact attention by rectangles of queries and keys: no seq x seq tensor, forward or backward, and rectangles that the
// mask leaves empty are skipped, so a window costs what it shows.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "core/kernels/blockwise.h"

namespace headwright::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What backward needs besides tensors, in the form in which a graph can keep it.
struct Kept final : torch::CustomClassHolder {
  explicit Kept(Scoring scoring_) : scoring(std::move(scoring_)) {}
  const Scoring scoring;
};

class Function : public torch::autograd::Function<Function> {
 public:
  /// learned: those of the modifiers in `kept` and its sink, here only so that the graph knows them.
  static variable_list forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               at::TensorList /*learned*/, const c10::intrusive_ptr<Kept>& kept) {
    const auto result = Blockwise(q, k, v, kept->scoring).forward();
    context->save_for_backward({q, k, v, result.y, result.lse});
    context->saved_data["kept"] = c10::IValue::make_capsule(kept);
    context->set_materialize_grads(false);
    return {result.y, result.lse};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {
      throw Error("[attend] kernel 'blockwise' has no second derivative; use kernel 'reference'");
    }
    const auto saved = context->get_saved_variables();
    const auto kept = context->saved_data["kept"].toCapsule();
    const Blockwise work(saved[0], saved[1], saved[2], static_cast<const Kept&>(*kept).scoring);
    const auto found = work.backward({.y = saved[3], .lse = saved[4]}, gradients[0], gradients[1]);
    variable_list all{found.q, found.k, found.v};
    all.insert(all.end(), found.learned.begin(), found.learned.end());
    if (found.sink.defined()) all.push_back(found.sink);
    all.emplace_back();  // of `kept`
    return all;
  }
};

class BlockwiseKernel final : public Kernel {
 public:
  std::string name() const override { return "blockwise"; }

  std::optional<std::string> cannot(const Scoring& scoring) const override {
    if (scoring.dropout > 0) return "drop weights";
    return std::nullopt;
  }

  std::optional<std::string> preferred_for(const Scoring& scoring) const override {
    if (!scoring.mask.is_sparse()) return {};
    return "skips what " + scoring.mask.to_string() + " hides";
  }

  bool exportable() const override { return false; }  // its loops depend on the lengths

  Attended run(const Request& request) const override {
    const auto& [q, k, v, scoring] = request;
    auto learned = learned_in(scoring);
    if (scoring.sink.defined()) learned.push_back(scoring.sink);
    const auto results = Function::apply(q, k, v, at::TensorList(learned), c10::make_intrusive<Kept>(scoring));
    Attended attended{results[0], results[1]};
    if (scoring.normaliser == Normaliser::sigmoid) return {attended.y, {}};
    if (!scoring.needs_lse) attended.lse.reset();
    return attended;
  }
};

}  // namespace

std::unique_ptr<Kernel> blockwise_kernel() { return std::make_unique<BlockwiseKernel>(); }

}  // namespace headwright::core
