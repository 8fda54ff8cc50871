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

/// The TorchScript of a block; the same sums in the same order as model::Block, without dropout.
std::string block_text(const bind::BlockPlan& plan, const model::Block& block) {
  const auto attend = [&](const std::string& x) {
    return "self.attention.forward(" + signature_of(plan.claims).arguments(x) + ")";
  };
  const auto look_up = [&](const std::string& x) {
    return "self.cross_attention.forward(" + signature_of(plan.cross_claims).arguments(x) + ")";
  };
  const auto feed = [](const std::string& x) { return "self.feed_forward.forward(" + x + ")"; };
  const auto norm = [](const std::string& name, const std::string& x) {
    return "self." + name + "_norm.forward(" + x + ")";
  };
  const auto line = [](const std::string& value) { return "    x = " + value + "\n"; };
  std::string text = signature_of(plan).declaration();
  switch (plan.order) {
    case Order::pre_norm:
      if (block.attention) text += line("x + " + attend(norm("attention", "x")));
      if (block.cross_attention) text += line("x + " + look_up(norm("cross_attention", "x")));
      if (block.feed_forward) text += line("x + " + feed(norm("feed_forward", "x")));
      break;
    case Order::post_norm:
      if (block.attention) text += line(norm("attention", "x + " + attend("x")));
      if (block.cross_attention) text += line(norm("cross_attention", "x + " + look_up("x")));
      if (block.feed_forward) text += line(norm("feed_forward", "x + " + feed("x")));
      break;
    case Order::parallel:
      text +=
          "    normed = " + norm("attention", "x") + "\n" + line("x + " + attend("normed") + " + " + feed("normed"));
      break;
    case Order::plain:
      if (block.attention) text += line(attend("x"));
      if (block.cross_attention) text += line(look_up("x"));
      if (block.feed_forward) text += line(feed("x"));
      break;
  }
  return text + "    return x\n";
}

std::string call(const std::string& module, const std::string& arguments) {
  return "    x = self." + module + ".forward(" + arguments + ")\n";
}

bool is_dynamic(const bind::StackPlan& plan) {
  bool dynamic = claims_dynamic(plan.final_norm, plan.last_dims());
  if (plan.embedding) dynamic &= claims_dynamic(plan.embedding->position, plan.dims);
  for (const auto& block : plan.blocks) {
    dynamic &= !block.attention || block.claims.dynamic_export;
    dynamic &= !block.cross_attention || block.cross_claims.dynamic_export;
    dynamic &= claims_dynamic(block.norm, block.dims) && claims_dynamic(block.feed_forward, block.feed_forward_dims());
  }
  return dynamic;
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
    const auto& signature = script_.signature;
    auto text = signature.declaration();
    if (model_.encoder && plan_.encoder) {
      script_.module.register_module("encoder", encoder(*plan_.encoder));
      text += "    memory = self.encoder.forward(memory" + std::string(signature.memory_mask ? ", memory_mask" : "") +
              ")\n";
    }
    text += stack(script_.module, model_, plan_, "", signature);
    if (model_.head) {
      add(script_.module, {.path = "head",
                           .variant = "head",
                           .module = model_.head.get(),
                           .eager = [head = model_.head](const Inputs& in) { return head->forward(in.x); },
                           .width = plan_.last_dims().d_model});
      text += call("head", "x");
    }
    script_.module.define(text + "    return x\n");
    return std::move(script_);
  }

 private:
  /// Its key mask is the memory mask of the model.
  jit::Module encoder(const bind::StackPlan& plan) {
    in_encoder_ = true;
    auto module = container("encoder", unit_);
    const Signature own{.key_mask = script_.signature.memory_mask};
    const auto text = stack(module, *model_.encoder, plan, "encoder.", own);
    module.define(own.declaration() + text + "    return x\n");
    in_encoder_ = false;
    return module;
  }

  /// Adds what a stack holds to its module, and returns the text that calls it.
  std::string stack(jit::Module& parent, const model::Stack& stack, const bind::StackPlan& plan,
                    const std::string& prefix, const Signature& signature) {
    std::string text;
    if (stack.embedding && plan.embedding) {
      const auto& position = plan.embedding->position;
      add(parent, {.path = prefix + "embedding",
                   .variant = position ? position.variant->name : "embedding",
                   .module = stack.embedding.get(),
                   .eager = [e = stack.embedding](const Inputs& in) { return e->forward(in.x, in.positions); },
                   .vocab_size = plan.embedding->vocab_size,
                   .dynamic = claims_dynamic(position, plan.dims)});
      text += call("embedding", "x");
    }
    parent.register_module("blocks", blocks(stack, plan, prefix + "blocks.", signature));
    text += call("blocks", signature.arguments("x"));
    if (stack.final_norm) {
      add(parent, simple(prefix + "final_norm", plan.final_norm, stack.final_norm, plan.last_dims()));
      text += call("final_norm", "x");
    }
    return text;
  }

  jit::Module blocks(const model::Stack& stack, const bind::StackPlan& plan, const std::string& prefix,
                     const Signature& signature) {
    auto list = container("blocks", unit_);
    auto text = signature.declaration();
    for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
      const auto index = std::to_string(i);
      list.register_module(index, block(*stack.blocks[i], plan.blocks[i], prefix + index));
      const auto taken = signature_of(plan.blocks[i]).within(signature);  // a mask only where the whole model has it
      text += "    x = getattr(self, \"" + index + "\").forward(" + taken.named_arguments("x") + ")\n";
    }
    list.define(text + "    return x\n");
    return list;
  }

  jit::Module block(const model::Block& block, const bind::BlockPlan& plan, const std::string& path) {
    auto module = container("block", unit_);
    const auto after = plan.feed_forward_dims();
    const auto attention = [&](const std::string& name, const std::shared_ptr<Attention>& layer,
                               const std::shared_ptr<Norm>& norm, const Component& component, const Claims& claims,
                               const Dims& dims) {
      if (norm) add(module, simple(path + "." + name + "_norm", plan.norm, norm, dims));
      if (!layer) return;
      add(module,
          {.path = path + "." + name,
           .variant = component.variant->name,
           .module = layer.get(),
           .eager = [layer](const Inputs& in) { return layer->forward(in); },
           .signature = signature_of(claims),
           .width = dims.d_model,
           .dynamic = claims.dynamic_export},
          layer->torchscript());
    };
    attention("attention", block.attention, block.attention_norm, plan.attention, plan.claims, plan.dims);
    attention("cross_attention", block.cross_attention, block.cross_attention_norm, plan.cross_attention,
              plan.cross_claims, plan.cross_dims);
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
    part.in_encoder = in_encoder_;
    write_component(part, part.sample(samples_, size_), text, unit_);
    parent.register_module(part.path.substr(part.path.rfind('.') + 1), part.scripted);
    script_.parts.push_back(std::move(part));
  }

  model::Model& model_;
  const bind::ModelPlan& plan_;
  Samples samples_;
  const Size size_;
  Script script_;
  bool in_encoder_ = false;
  Unit unit_ = std::make_shared<jit::CompilationUnit>();
};

}  // namespace

Inputs Part::sample(Samples& samples, const Size& size) const {
  const auto seq = in_encoder ? size.memory_len : size.seq;
  return samples.component({size.batch, seq, size.memory_len}, width, vocab_size);
}

Script make_script(model::Model& model, const bind::Plan& plan, const Size& size) {
  return Builder(model, plan, size).build();
}

bool is_dynamic(const bind::ModelPlan& plan) {
  const bool encoder = !plan.encoder || is_dynamic(static_cast<const bind::StackPlan&>(*plan.encoder));
  return encoder && is_dynamic(static_cast<const bind::StackPlan&>(plan));
}

}  // namespace headwright::exporter
