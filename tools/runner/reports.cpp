#include "reports.h"

#include "headwright/errors.h"
#include "print.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const auto size : shape) sizes.push_back(std::to_string(size));
  return "(" + support::join(sizes, ", ") + ")";
}

}  // namespace

Json checks_json(const std::vector<exporter::Check>& checks) {
  auto list = Json::array();
  for (const auto& [shape, error] : checks) {
    Json object;
    object["shape"] = shape;
    object["max_abs_error"] = number_json(error);
    list.push_back(std::move(object));
  }
  return list;
}

std::string checks_text(const std::vector<exporter::Check>& checks) {
  std::vector<std::vector<std::string>> rows{{"checked at", "max abs error"}};
  for (const auto& [shape, error] : checks) rows.push_back({shape_text(shape), support::number_text(error)});
  return table_text(rows);
}

Json kernel_json(const KernelChoice& choice) {
  return {{"requested", choice.requested}, {"effective", choice.effective}, {"reason", choice.reason}};
}

Json claims_json(const Claims& claims) {
  Json object;
  object["causal"] = claims.causal;
  object["memory"] = claims.memory;
  object["key_mask"] = claims.key_mask;
  object["differentiable"] = claims.differentiable;
  object["dynamic_export"] = claims.dynamic_export;
  object["core"] = claims.core;
  object["embed"] = claims.embed;
  object["rotate"] = claims.rotate;
  object["bias"] = claims.bias;
  object["cache"] = claims.cache;
  object["document_ids"] = claims.document_ids;
  object["d_out"] = claims.d_out;
  object["cost"] = claims.cost;
  return object;
}

std::string claims_text(const Claims& claims, Kind kind) {
  std::vector<std::string> words;
  const auto say = [&](bool holds, const char* word) {
    if (holds) words.emplace_back(word);
  };
  say(claims.causal, "causal");
  say(claims.memory, "reads a memory");
  say(claims.key_mask, "takes a key mask");
  say(claims.core, "on the attention core");
  say(claims.embed, "adds to embeddings");
  say(claims.rotate, "rotates q and k");
  say(claims.bias, "changes scores");
  say(claims.cache, "continues from a cache");
  say(claims.document_ids, "honours document ids");
  say(!claims.differentiable, "not differentiable");
  say(!claims.dynamic_export, "exports one shape only");
  if (words.empty() && kind != Kind::attention) words.emplace_back("each token on its own");
  return support::join(words, ", ");
}

Claims usual_claims(const VariantSpec& variant) {
  ParamMap values;
  for (const auto& row : variant.params) values.emplace_back(row.name, row.default_value);
  const Dims dims{.d_model = 8, .n_heads = 2, .n_kv_heads = 2, .d_head = 4, .context_length = 16, .d_memory = 8};
  return variant.claims(dims, values);
}

const VariantSpec& variant_called(const registry::Registry& registry, const std::string& name) {
  if (const auto* variant = registry.find(name)) return *variant;
  std::vector<std::string> names;
  for (const auto& provided : registry.provided()) names.push_back(provided.name);
  const auto near = support::nearest(name, names);
  std::string message = "no variant is called '" + support::printable(name) + "'" +
                        (near ? "; did you mean '" + *near + "'?" : "") + " (known: " + support::join(names, ", ") +
                        ")";
  for (const auto& [file, reason] : registry.refused())
    message.append("\nrefused ").append(file).append(": ").append(reason);
  throw InputError(message);
}

Json refusals_json(const std::vector<registry::Refusal>& refused) {
  auto list = Json::array();
  for (const auto& [file, reason] : refused) list.push_back({{"file", file}, {"reason", reason}});
  return list;
}

std::string refusals_text(const std::vector<registry::Refusal>& refused) {
  std::string text;
  for (const auto& [file, reason] : refused) text += printable_lines("refused " + file + ": " + reason) + "\n";
  return text;
}

}  // namespace headwright::runner
