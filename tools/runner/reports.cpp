// What several commands print alike: variants, kernels, sizes.
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
  for (const auto& row : claim_rows()) object[row.name] = claims.*row.member;
  object["d_out"] = claims.d_out;
  object["cost"] = claims.cost;
  return object;
}

static std::string_view takes_text(Takes takes) {
  switch (takes) {
    case Takes::tokens:
      return "takes token ids";
    case Takes::features:
      return "takes features";
    case Takes::images:
      return "takes images";
    case Takes::nothing:
      break;
  }
  return "takes no input";
}

std::string claims_text(const Claims& claims, Kind kind) {
  std::vector<std::string> words;
  if (kind == Kind::embedding) words.emplace_back(takes_text(claims.takes));
  for (const auto& row : claim_rows()) {
    if (claims.*row.member != row.said_if_false) words.emplace_back(row.phrase);
  }
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
  for (const auto& refusal : registry.refused()) {
    message.append("\nrefused ").append(refusal.file).append(": ").append(refusal.reason);
  }
  throw InputError(message);
}

Json refusals_json(const std::vector<registry::Refusal>& refused) {
  auto list = Json::array();
  for (const auto& refusal : refused) list.push_back({{"file", refusal.file}, {"reason", refusal.reason}});
  return list;
}

std::string refusals_text(const std::vector<registry::Refusal>& refused) {
  std::string text;
  for (const auto& refusal : refused) text += printable_lines("refused " + refusal.file + ": " + refusal.reason) + "\n";
  return text;
}

}  // namespace headwright::runner
