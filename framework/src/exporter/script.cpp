#include "exporter/script.h"

#include "exporter/component_script.h"
#include "headwright/variant.h"

namespace headwright::exporter {
namespace {

namespace jit = torch::jit;
using bind::Order;

bool claims_dynamic(const Component& component, const Dims& dims) {
  return !component || component.variant->claims(dims, component.values).dynamic_export;
}

/// Dims of what follows the attention of a block.
Dims after_attention(const bind::BlockPlan& plan) {
  Dims dims = plan.dims;
  dims.d_model = plan.d_out;
  return dims;
}

Dims after_blocks(const bind::ModelPlan& plan) {
  Dims dims = plan.dims;
  if (!plan.blocks.empty()) dims.d_model = plan.blocks.back().d_out;
  return dims;
}

Signature signature_of(const bind::BlockPlan& plan) {
  return plan.attention ? exporter::signature_of(plan.claims) : Signature{};
}

/// The TorchScript of a block; the same sums in the same order as model::Block, without dropout.
std::string block_text(const bind::BlockPlan& plan, const model::Block& block) {
  const auto signature = signature_of(plan);
  const auto attend = [&](const std::string& x) { return "self.attention.forward(" + signature.arguments(x) + ")"; };
  const auto feed = [](const std::string& x) { return "self.feed_forward.forward(" + x + ")"; };
  const auto norm = [](const std::string& name, const std::string& x) {
    return "self." + name + "_norm.forward(" + x + ")";
  };
  const auto line = [](const std::string& value) { return "    x = " + value + "\n"; };
  std::string text = signature.declaration();
  switch (plan.order) {
    case Order::pre_norm:
      if (block.attention) text += line("x + " + attend(norm("attention", "x")));
      if (block.feed_forward) text += line("x + " + feed(norm("feed_forward", "x")));
      break;
    case Order::post_norm:
      if (block.attention) text += line(norm("attention", "x + " + attend("x")));
      if (block.feed_forward) text += line(norm("feed_forward", "x + " + feed("x")));
      break;
    case Order::parallel:
      text +=
          "    normed = " + norm("attention", "x") + "\n" + line("x + " + attend("normed") + " + " + feed("normed"));
      break;
    case Order::plain:
      if (block.attention) text += line(attend("x"));
      if (block.feed_forward) text += line(feed("x"));
      break;
  }
  return text + "    return x\n";
}

/// Builds the tree from the model's input to its output.
class Builder {
 public:
  Builder(model::Model& model, const bind::Plan& plan, const Size& size)
      : model_(model), plan_(plan.model), samples_(plan), size_(size) {
    script_.signature = exporter::signature_of(plan_);
  }

  Script build() {
    script_.module = container("Model", unit_);
    std::string text = script_.signature.declaration();
    const auto call = [&](const std::string& name, const std::string& arguments) {
      text += "    x = self." + name + ".forward(" + arguments + ")\n";
    };
    if (const auto& embedding = plan_.embedding) {
      add(script_.module, {.path = "embedding",
                           .variant = embedding->position ? embedding->position.variant->name : "embedding",
                           .module = model_.embedding.get(),
                           .eager = [e = model_.embedding](const Inputs& in) { return e->forward(in.x, in.positions); },
                           .dynamic = claims_dynamic(embedding->position, plan_.dims)});
      call("embedding", "x");
    }
    add_blocks();
    call("blocks", script_.signature.arguments("x"));
    const auto dims = after_blocks(plan_);
    if (model_.final_norm) {
      add(script_.module, simple("final_norm", plan_.final_norm, model_.final_norm, dims));
      call("final_norm", "x");
    }
    if (model_.head) {
      add(script_.module, {.path = "head",
                           .variant = "head",
                           .module = model_.head.get(),
                           .eager = [head = model_.head](const Inputs& in) { return head->forward(in.x); },
                           .width = dims.d_model});
      call("head", "x");
    }
    script_.module.define(text + "    return x\n");
    return std::move(script_);
  }

 private:
  void add_blocks() {
    auto list = container("blocks", unit_);
    std::string text = script_.signature.declaration();
    for (std::size_t i = 0; i < model_.blocks.size(); ++i) {
      const auto& plan = plan_.blocks[i];
      const auto index = std::to_string(i);
      list.register_module(index, block(*model_.blocks[i], plan, "blocks." + index));
      auto taken = signature_of(plan);  // a mask only where the whole model has it
      taken.key_mask &= script_.signature.key_mask;
      taken.context_mask &= script_.signature.context_mask;
      text += "    x = getattr(self, \"" + index + "\").forward(" + taken.arguments("x") + ")\n";
    }
    list.define(text + "    return x\n");
    script_.module.register_module("blocks", list);
  }

  jit::Module block(const model::Block& block, const bind::BlockPlan& plan, const std::string& path) {
    auto module = container("block", unit_);
    const auto after = after_attention(plan);
    if (block.attention_norm) add(module, simple(path + ".attention_norm", plan.norm, block.attention_norm, plan.dims));
    if (block.attention) {
      add(module,
          {.path = path + ".attention",
           .variant = plan.attention.variant->name,
           .module = block.attention.get(),
           .eager = [a = block.attention](const Inputs& in) { return a->forward(in); },
           .signature = signature_of(plan),
           .width = plan.dims.d_model,
           .dynamic = plan.claims.dynamic_export},
          block.attention->torchscript());
    }
    if (block.feed_forward_norm)
      add(module, simple(path + ".feed_forward_norm", plan.norm, block.feed_forward_norm, after));
    if (block.feed_forward) add(module, simple(path + ".feed_forward", plan.feed_forward, block.feed_forward, after));
    module.define(block_text(plan, block));
    return module;
  }

  /// A norm or a feed-forward layer: x -> y.
  template <class M>
  static Part simple(const std::string& path, const Component& component, const std::shared_ptr<M>& module,
                     const Dims& dims) {
    return {.path = path,
            .variant = component.variant->name,
            .module = module.get(),
            .eager = [module](const Inputs& in) { return module->forward(in.x); },
            .width = dims.d_model,
            .dynamic = claims_dynamic(component, dims)};
  }

  void add(jit::Module& parent, Part part, const std::string& text = "") {
    write_component(part, samples_.features(size_, part.width, /*masked=*/true), text, unit_);
    parent.register_module(part.path.substr(part.path.rfind('.') + 1), part.scripted);
    script_.parts.push_back(std::move(part));
  }

  model::Model& model_;
  const bind::ModelPlan& plan_;
  Samples samples_;
  const Size size_;
  Script script_;
  Unit unit_ = std::make_shared<jit::CompilationUnit>();
};

}  // namespace

Script make_script(model::Model& model, const bind::Plan& plan, const Size& size) {
  return Builder(model, plan, size).build();
}

bool is_dynamic(const bind::ModelPlan& plan) {
  bool dynamic = claims_dynamic(plan.final_norm, after_blocks(plan));
  if (plan.embedding) dynamic &= claims_dynamic(plan.embedding->position, plan.dims);
  for (const auto& block : plan.blocks) {
    dynamic &= !block.attention || block.claims.dynamic_export;
    dynamic &= claims_dynamic(block.norm, block.dims) && claims_dynamic(block.feed_forward, after_attention(block));
  }
  return dynamic;
}

}  // namespace headwright::exporter
