// Reads assignments by the rows of the variant and those of the sizes, with the rules of a config.
#include "check/settings.h"

#include <algorithm>
#include <optional>

#include "bind/assignments.h"
#include "check/subject.h"
#include "headwright/attend.h"
#include "headwright/errors.h"
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

void check_kernel(const VariantSpec& variant, const Settings& settings, bind::Assignments& given) {
  const auto& kernel = settings.dims.kernel;
  if (kernel == "auto") return;
  auto known = kernel_names();
  known.insert(known.begin(), "auto");
  if (std::ranges::find(known, kernel) == known.end()) {
    given.report("kernel",
                 "no kernel is called '" + support::printable(kernel) + "' (known: " + support::join(known, ", ") + ")",
                 support::nearest(kernel, known).value_or(""));
    return;
  }
  const Subject subject(variant, settings.dims, settings.values);
  if (!subject.claims.core) {
    given.report("kernel", "has no effect: '" + variant.name + "' is not computed by the attention core");
  } else if (const auto obstacle = subject.kernel_obstacle(); !obstacle.empty()) {
    given.report("kernel", obstacle);
  }
}

}  // namespace

Settings read_settings(const VariantSpec& variant, registry::Registry& registry,
                       const std::vector<std::string>& assignments) {
  bind::Assignments given(registry, assignments);
  auto values = given.read({rows_for(variant), {}, "parameter of '" + variant.name + "', and no size"});
  Settings settings{params_from<Sizes>(values).dims(), std::move(values)};
  settings.values.resize(variant.params.size());  // the sizes stand behind them
  Issues issues;
  variant.check(settings.dims, settings.values, issues);
  for (const auto& [name, message] : issues.items()) given.report(name, message);
  if (given.is_sound()) check_kernel(variant, settings, given);
  given.throw_problems();
  return settings;
}

}  // namespace headwright::check
