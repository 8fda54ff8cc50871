// From claims to arguments: their order, their defaults, and how a module hands them to its parts.
#include "exporter/signature.h"

#include <array>

#include "support/text.h"

namespace headwright::exporter {
namespace {

/// The inputs in the order of the arguments.
struct Argument {
  const char* name;
  bool Signature::* taken;
  at::Tensor Inputs::* value;
  const char* otherwise = nullptr;  // what stands for it where it is left out; null = nothing
};
constexpr std::array kRequired{Argument{"x", &Signature::x, &Inputs::x},
                               Argument{"memory", &Signature::memory, &Inputs::memory}};
constexpr std::array kOptional{
    Argument{"key_mask", &Signature::key_mask, &Inputs::key_mask},
    Argument{"memory_mask", &Signature::memory_mask, &Inputs::memory_mask},
    Argument{"document_ids", &Signature::document_ids, &Inputs::document_ids},
    Argument{"positions", &Signature::positions, &Inputs::positions,
             "torch.arange(x.size(1), device=x.device).unsqueeze(0)"},
    Argument{"token_types", &Signature::token_types, &Inputs::token_types, "torch.zeros_like(x)"}};

}  // namespace

std::vector<std::string> Signature::names() const {
  std::vector<std::string> names;
  for (const auto& it : kRequired) {
    if (this->*it.taken) names.emplace_back(it.name);
  }
  for (auto& name : optional_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> Signature::optional_names() const {
  std::vector<std::string> names;
  for (const auto& it : kOptional) {
    if (this->*it.taken) names.emplace_back(it.name);
  }
  return names;
}

std::vector<std::string> Signature::mask_names() const { return without_defaults().optional_names(); }

std::string Signature::declaration() const {
  std::vector<std::string> arguments{"self"};
  for (auto& name : required().names()) arguments.push_back(std::move(name));
  for (const auto& name : optional_names()) arguments.push_back(name + ": Optional[Tensor] = None");
  return "def forward(" + support::join(arguments, ", ") + "):\n";
}

std::string Signature::defaults() const {
  std::string text;
  for (const auto& it : kOptional) {
    if (it.otherwise == nullptr || !(this->*it.taken)) continue;
    text += "    if " + std::string(it.name) + " is None:\n        " + it.name + " = " + it.otherwise + "\n";
  }
  return text;
}

std::string Signature::arguments(const std::string& x_text) const {
  auto all = required().names();
  if (x) all.front() = x_text;
  for (const auto& name : optional_names()) all.push_back(name + "=" + name);
  return support::join(all, ", ");
}

std::vector<at::Tensor> Signature::values(const Inputs& inputs) const {
  std::vector<at::Tensor> values;
  const auto add = [&](const Argument& it) {
    if (this->*it.taken) values.push_back(inputs.*it.value);
  };
  for (const auto& it : kRequired) add(it);
  for (const auto& it : kOptional) add(it);
  return values;
}

Inputs Signature::inputs(const std::vector<at::Tensor>& values) const {
  Inputs inputs;
  auto next = values.begin();
  const auto take = [&](const Argument& it) {
    if (this->*it.taken) inputs.*it.value = *next++;
  };
  for (const auto& it : kRequired) take(it);
  for (const auto& it : kOptional) take(it);
  return inputs;
}

std::vector<Signature> Signature::choices() const {
  std::vector<Signature> all{*this};
  for (const auto& it : kOptional) {
    if (it.otherwise != nullptr || !(this->*it.taken)) continue;
    for (std::size_t i = 0, end = all.size(); i < end; ++i) {
      auto without = all[i];
      without.*it.taken = false;
      all.push_back(without);
    }
  }
  return all;
}

Signature Signature::without_defaults() const {
  auto without = *this;
  for (const auto& it : kOptional) {
    if (it.otherwise != nullptr) without.*it.taken = false;
  }
  return without;
}

std::vector<Signature> Signature::calls() const {
  auto all = without_defaults().choices();
  if (positions || token_types) all.insert(all.begin(), *this);
  return all;
}

Signature Signature::both(const Signature& other) const {
  auto result = *this;
  result.memory = memory || other.memory;
  for (const auto& it : kOptional) result.*it.taken = this->*it.taken || other.*it.taken;
  return result;
}

Signature Signature::within(const Signature& other) const {
  auto result = *this;
  for (const auto& it : kOptional) result.*it.taken = this->*it.taken && other.*it.taken;
  return result;
}

Signature signature_of(Kind kind, const Claims& claims) {
  if (kind == Kind::embedding) {
    const bool nothing = claims.takes == Takes::nothing;
    return {.x = !nothing, .memory = nothing, .positions = claims.positions, .token_types = claims.n_token_types > 0};
  }
  if (kind == Kind::head) return {.key_mask = claims.key_mask};
  if (kind != Kind::attention) return {};
  return {.memory = claims.memory,
          .key_mask = claims.key_mask && !claims.memory,
          .memory_mask = claims.key_mask && claims.memory,
          .document_ids = claims.document_ids,
          .positions = claims.positions};
}

Signature signature_of(const bind::BlockPlan& plan) {
  Signature signature;
  for (const auto& sublayer : plan.sublayers) {
    if (sublayer.is_attention()) signature = signature.both(signature_of(Kind::attention, sublayer.claims));
  }
  return signature;
}

Signature signature_of(const bind::ModelPlan& plan) {
  return {.x = plan.takes_x(),
          .memory = plan.takes_memory(),
          .key_mask = plan.takes_key_mask(),
          .memory_mask = plan.takes_memory_mask(),
          .document_ids = plan.takes_document_ids(),
          .positions = plan.takes_positions(),
          .token_types = plan.takes_token_types()};
}

}  // namespace headwright::exporter
