#include "exporter/signature.h"

#include <array>

#include "support/text.h"

namespace headwright::exporter {
namespace {

/// The optional inputs, in the order of the arguments.
struct Optional {
  const char* name;
  bool Signature::* taken;
  at::Tensor Inputs::* value;
};
constexpr std::array kOptional{Optional{"key_mask", &Signature::key_mask, &Inputs::key_mask},
                               Optional{"memory_mask", &Signature::memory_mask, &Inputs::memory_mask},
                               Optional{"document_ids", &Signature::document_ids, &Inputs::document_ids}};

}  // namespace

std::vector<std::string> Signature::names() const {
  std::vector<std::string> names{"x"};
  if (memory) names.emplace_back("memory");
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

std::string Signature::declaration() const {
  std::string text = "def forward(self, x";
  if (memory) text += ", memory";
  for (const auto& name : optional_names()) text += ", " + name + ": Optional[Tensor] = None";
  return text + "):\n";
}

std::string Signature::arguments(const std::string& x) const {
  auto all = names();
  all.front() = x;
  return support::join(all, ", ");
}

std::string Signature::named_arguments(const std::string& x) const {
  auto text = Signature{.memory = memory}.arguments(x);
  for (const auto& name : optional_names()) text += ", " + name + "=" + name;
  return text;
}

std::vector<at::Tensor> Signature::values(const Inputs& inputs) const {
  std::vector<at::Tensor> values{inputs.x};
  if (memory) values.push_back(inputs.memory);
  for (const auto& it : kOptional) {
    if (this->*it.taken) values.push_back(inputs.*it.value);
  }
  return values;
}

Inputs Signature::inputs(const std::vector<at::Tensor>& values) const {
  Inputs inputs;
  auto next = values.begin();
  inputs.x = *next++;
  if (memory) inputs.memory = *next++;
  for (const auto& it : kOptional) {
    if (this->*it.taken) inputs.*it.value = *next++;
  }
  return inputs;
}

std::vector<Signature> Signature::choices() const {
  std::vector<Signature> all{*this};
  for (const auto& it : kOptional) {
    if (!(this->*it.taken)) continue;
    for (std::size_t i = 0, end = all.size(); i < end; ++i) {
      auto without = all[i];
      without.*it.taken = false;
      all.push_back(without);
    }
  }
  return all;
}

Signature Signature::both(const Signature& other) const {
  return {.memory = memory || other.memory,
          .key_mask = key_mask || other.key_mask,
          .memory_mask = memory_mask || other.memory_mask,
          .document_ids = document_ids || other.document_ids};
}

Signature Signature::within(const Signature& other) const {
  return {.memory = memory,
          .key_mask = key_mask && other.key_mask,
          .memory_mask = memory_mask && other.memory_mask,
          .document_ids = document_ids && other.document_ids};
}

Signature signature_of(const Claims& claims) {
  return {.memory = claims.memory,
          .key_mask = claims.key_mask && !claims.memory,
          .memory_mask = claims.key_mask && claims.memory,
          .document_ids = claims.document_ids};
}

Signature signature_of(const bind::BlockPlan& plan) {
  Signature signature;
  if (plan.attention) signature = signature_of(plan.claims);
  return plan.cross_attention ? signature.both(signature_of(plan.cross_claims)) : signature;
}

Signature signature_of(const bind::ModelPlan& plan) {
  return {.memory = plan.takes_memory(),
          .key_mask = plan.takes_key_mask(),
          .memory_mask = plan.takes_memory_mask(),
          .document_ids = plan.takes_document_ids()};
}

}  // namespace headwright::exporter
