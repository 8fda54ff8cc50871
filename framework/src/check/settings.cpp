// Reads assignments by the rows of the variant and those of the sizes, with the rules of a config.
#include "check/settings.h"

#include <algorithm>
#include <optional>

#include "bind/rows.h"
#include "check/subject.h"
#include "headwright/attend.h"
#include "headwright/errors.h"
#include "spec/load.h"
#include "support/text.h"

namespace headwright::check {
namespace {

/// Sizes small enough that a variant is checked within seconds.
struct Sizes {
  std::int64_t d_model = 8, n_heads = 2;
  std::optional<std::int64_t> n_kv_heads, d_head, context_length = 160, d_memory;
  std::int64_t vocab_size = 11;
  std::string kernel = "auto";

  static constexpr auto fields() {
    return std::tuple{
        field("d_model", &Sizes::d_model, "width of the features", at_least(1)),
        field("n_heads", &Sizes::n_heads, "attention heads", at_least(1)),
        field("n_kv_heads", &Sizes::n_kv_heads, "heads of keys and values; absent = n_heads", at_least(1)),
        field("d_head", &Sizes::d_head, "width of a head; absent = d_model / n_heads", at_least(1)),
        field("context_length", &Sizes::context_length, "longest sequence; absent = none is set", at_least(1)),
        field("d_memory", &Sizes::d_memory, "width of the memory; absent = d_model", at_least(1)),
        field("vocab_size", &Sizes::vocab_size, "number of token ids of the model's embedding", at_least(1)),
        field("kernel", &Sizes::kernel, "attention kernel; auto = the first that can"),
    };
  }

  Dims dims() const {
    Dims dims{.d_model = d_model,
              .n_heads = n_heads,
              .n_kv_heads = n_kv_heads.value_or(n_heads),
              .d_head = d_head.value_or(d_model % n_heads == 0 ? d_model / n_heads : 0),
              .context_length = context_length.value_or(0),
              .d_memory = d_memory.value_or(d_model),
              .kernel = kernel,
              .vocab_size = vocab_size};
    return dims;
  }
};

/// The variant's rows, then the sizes. A row of the variant stands for a size of the same name.
std::vector<ParamSpec> rows_for(const VariantSpec& variant) {
  auto rows = variant.params;
  for (auto& size : specs_of<Sizes>()) {
    if (std::ranges::find(variant.params, size.name, &ParamSpec::name) == variant.params.end()) {
      rows.push_back(std::move(size));
    }
  }
  return rows;
}

class Checker {
 public:
  Checker(const VariantSpec& variant, registry::Registry& registry, const std::vector<std::string>& assignments)
      : variant_(variant), reader_{registry, {}}, given_(bind::map_node({.file = "--set"})) {
    for (const auto& assignment : assignments) spec::apply_override(given_, assignment);
  }

  Settings read() {
    const auto rows = rows_for(variant_);
    auto resolved = bind::map_node(bind::default_mark());
    auto read =
        bind::read_rows(reader_, {rows, {}, "parameter of '" + variant_.name + "', and no size"}, given_, "", resolved);
    throw_problems();
    Settings settings{params_from<Sizes>(read.values).dims(), std::move(read.values)};
    settings.values.resize(variant_.params.size());  // the sizes stand behind them
    check(settings);
    throw_problems();
    return settings;
  }

 private:
  void report(const std::string& key, const std::string& message, const std::string& suggestion = "") {
    const auto* value = given_.find(key.substr(0, key.find('.')));
    reader_.report(value == nullptr ? given_.mark : value->mark, key, message, suggestion);
  }

  void check(const Settings& settings) {
    Issues issues;
    variant_.check(settings.dims, settings.values, issues);
    for (const auto& [name, message] : issues.items()) report(name, message);
    if (reader_.problems.empty()) check_kernel(settings);
  }

  void check_kernel(const Settings& settings) {
    const auto& kernel = settings.dims.kernel;
    if (kernel == "auto") return;
    auto known = kernel_names();
    known.insert(known.begin(), "auto");
    if (std::ranges::find(known, kernel) == known.end()) {
      report("kernel",
             "no kernel is called '" + support::printable(kernel) + "' (known: " + support::join(known, ", ") + ")",
             support::nearest(kernel, known).value_or(""));
      return;
    }
    const Subject subject(variant_, settings.dims, settings.values);
    if (!subject.claims.core) {
      report("kernel", "has no effect: '" + variant_.name + "' is not computed by the attention core");
    } else if (const auto obstacle = subject.kernel_obstacle(); !obstacle.empty()) {
      report("kernel", obstacle);
    }
  }

  void throw_problems() const {
    if (!reader_.problems.empty()) throw ConfigError(reader_.problems);
  }

  const VariantSpec& variant_;
  bind::Reader reader_;
  spec::Node given_;
};

}  // namespace

Settings read_settings(const VariantSpec& variant, registry::Registry& registry,
                       const std::vector<std::string>& assignments) {
  return Checker(variant, registry, assignments).read();
}

}  // namespace headwright::check
