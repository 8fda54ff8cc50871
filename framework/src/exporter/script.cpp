// Builds the tree of modules. The text of a block comes from the same walk that computes it.
#include "exporter/script.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "bind/walk.h"
#include "exporter/component_script.h"
#include "exporter/guards.h"
#include "headwright/variant.h"
#include "model/interpreter.h"

namespace headwright::exporter {
namespace {

namespace jit = torch::jit;

/// The steps of a block as expressions: each makes a line of TorchScript and names what it computed.
class Text {
 public:
  explicit Text(const Signature& signature) : signature_(signature) {}

  std::string normed(const model::Sublayer& sublayer, const std::shared_ptr<Norm>& norm, const std::string& x) {
    return made("self." + model::norm_at(sublayer, norm).name + ".forward(" + x + ")");
  }
  std::string output(const model::Sublayer& sublayer, const std::string& x) {
    const auto& plan = sublayer.plan;
    const auto taken = signature_of(plan.component.variant->kind, plan.claims).within(signature_);
    return made("self." + plan.name + ".forward(" + taken.arguments(x) + ")");
  }
  static std::string dropped(const model::Sublayer&, const std::string& y) { return y; }  // inference form
  std::string scaled(const model::Sublayer& sublayer, const std::string& y) {
    std::ostringstream factor;
    factor << std::setprecision(17) << std::showpoint << sublayer.plan.residual_scale;
    return made(y + " * " + factor.str());
  }
  std::string sum(const model::Sublayer&, const std::string& x, const std::string& y) { return made(x + " + " + y); }

  const std::string& lines() const { return lines_; }

 private:
  std::string made(const std::string& value) {
    const auto name = "x" + std::to_string(++count_);
    lines_ += "    " + name + " = " + value + "\n";
    return name;
  }

  const Signature& signature_;
  std::string lines_;
  int count_ = 0;
};

std::string call(const std::string& module, const std::string& arguments) {
  return "    x = self." + module + ".forward(" + arguments + ")\n";
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
    for (const auto& name : signature.optional_names()) text += optional_guard(name);
    if (model_.encoder && plan_.encoder) {
      script_.module.register_module("encoder", encoder(*plan_.encoder));
      text += "    memory = self.encoder.forward(memory" +
              std::string(signature.memory_mask ? ", key_mask=memory_mask" : "") + ")\n";
    }
    text += stack(script_.module, model_, plan_, "", signature);
    if (model_.head) {
      auto part = component("head", plan_.head, model_.head);
      part.width = plan_.last_dims().d_model;
      text += call("head", part.signature.within(signature).arguments());
      add(script_.module, std::move(part));
    }
    script_.module.define(text + "    return x\n");
    return std::move(script_);
  }

 private:
  /// Its key mask is the memory mask of the model.
  jit::Module encoder(const bind::StackPlan& plan) {
    in_encoder_ = true;
    auto module = container("encoder", unit_);
    Signature own{.key_mask = script_.signature.memory_mask};
    own.positions = plan.positions.counted();
    const auto text = stack(module, *model_.encoder, plan, "encoder.", own);
    module.define(own.declaration() + text + "    return x\n");
    in_encoder_ = false;
    return module;
  }

  /// Adds what a stack holds to its module, and returns the text that calls it.
  std::string stack(jit::Module& parent, const model::Stack& stack, const bind::StackPlan& plan,
                    const std::string& prefix, const Signature& signature) {
    std::string text;
    if (stack.positions) {
      Part part{.path = prefix + "position_counter",
                .variant = "positions",
                .module = stack.positions.get(),
                .eager = [counter = stack.positions](const Inputs& in) { return counter->forward(in); },
                .signature = {.key_mask = signature.key_mask && plan.positions.visible,
                              .document_ids = signature.document_ids && plan.positions.per_document}};
      input_of(plan, part);
      text += "    if positions is None:\n        positions = self.position_counter.forward(" +
              part.signature.arguments() + ")\n";
      add(parent, std::move(part));
    }
    if (stack.embedding) {
      auto part = component(prefix + "embedding", plan.embedding, stack.embedding);
      input_of(plan, part);
      text += call("embedding", part.signature.within(signature).arguments());
      add(parent, std::move(part));
    }
    parent.register_module("blocks", blocks(stack, plan, prefix + "blocks.", signature));
    text += call("blocks", inner(signature).arguments());
    if (stack.final_norm) {
      add(parent, simple(prefix + "final_norm", plan.final_norm.component, stack.final_norm, plan.final_norm.dims));
      text += call("final_norm", "x");
    }
    return text;
  }

  /// What blocks are called with: features stand in the place of whatever came in.
  static Signature inner(Signature signature) {
    signature.x = true;
    signature.token_types = false;
    return signature;
  }

  static void input_of(const bind::StackPlan& plan, Part& part) { part.wanted = bind::wanted_input(plan); }

  jit::Module blocks(const model::Stack& stack, const bind::StackPlan& plan, const std::string& prefix,
                     const Signature& signature) {
    auto list = container("blocks", unit_);
    auto text = inner(signature).declaration();
    for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
      const auto index = std::to_string(plan.blocks[i].shared.value_or(i));
      if (!plan.blocks[i].shared) list.register_module(index, block(*stack.blocks[i], plan.blocks[i], prefix + index));
      const auto taken = signature_of(plan.blocks[i]).within(signature);  // a mask only where the whole model has it
      text += "    x = getattr(self, \"" + index + "\").forward(" + taken.arguments() + ")\n";
    }
    list.define(text + "    return x\n");
    return list;
  }

  jit::Module block(const model::Block& block, const bind::BlockPlan& plan, const std::string& path) {
    auto module = container("block", unit_);
    for (const auto& sublayer : block.sublayers()) {
      const auto& step = sublayer.plan;
      const auto norm = [&](const Component& component, const std::shared_ptr<Norm>& made, const std::string& name,
                            const Dims& dims) {
        if (made) add(module, simple(path + "." + name, component, made, dims));
      };
      norm(step.norm, sublayer.norm, bind::norm_name(step), step.dims);
      norm(step.residual_norm, sublayer.residual_norm, bind::residual_norm_name(step), step.dims_after());
      if (sublayer.attention) {
        auto part = component(path + "." + step.name, step, sublayer.attention);
        part.width = step.dims.d_model;
        add(module, std::move(part), sublayer.attention->torchscript());
      } else {
        add(module, simple(path + "." + step.name, step.component, sublayer.feed_forward, step.dims),
            sublayer.feed_forward->torchscript());
      }
      norm(step.output_norm, sublayer.output_norm, bind::output_norm_name(step), step.dims_after());
    }
    const auto signature = signature_of(plan);
    Text text(signature);
    const auto y = model::run_block(block.sublayers(), text, std::string("x"));
    module.define(signature.declaration() + text.lines() + "    return " + y + "\n");
    return module;
  }

  /// What is called with the inputs as a whole: an embedding, an attention, a head.
  template <class M>
  static Part component(const std::string& path, const bind::Placed& placed, const std::shared_ptr<M>& module) {
    return {.path = path,
            .variant = placed.component.variant->name,
            .module = module.get(),
            .eager = [module](const Inputs& in) { return module->forward(in); },
            .signature = signature_of(placed.component.variant->kind, placed.claims),
            .dynamic = placed.claims.dynamic_export};
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
            .dynamic = component.variant->claims(dims, component.values).dynamic_export};
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
  const auto what = wanted.value_or(bind::Wanted{.item_shape = {width}});
  return samples.component({size.batch, seq, size.memory_len}, what);
}

Script make_script(model::Model& model, const bind::Plan& plan, const Size& size) {
  return Builder(model, plan, size).build();
}

bool is_dynamic(const bind::ModelPlan& plan) {
  return std::ranges::all_of(bind::walk(plan), [](const bind::Place& place) {
    const auto& component = *place.component;
    return place.claims != nullptr ? place.claims->dynamic_export
                                   : component.variant->claims(*place.dims, component.values).dynamic_export;
  });
}

}  // namespace headwright::exporter
