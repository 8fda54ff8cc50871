// `runner compare`: two configs or two files, tensor by tensor.
#include "run/compare.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "model/build.h"
#include "print.h"
#include "run/forward.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

struct Options {
  ConfigOptions a;
  std::filesystem::path b;
  InputOptions input;
  double tolerance = 1e-5;
  bool equal_nan = false, json = false;
};

bool is_tensor_file(const std::filesystem::path& path) {
  return path.extension() == ".npy" || path.extension() == ".safetensors";
}

/// The first config's input goes through both models.
run::Comparison compare_configs(const Global& global, const Options& options) {
  auto request = options.a.request(global);
  request.input = options.input.choice();
  const auto first = run::open(request);
  request.config = options.b;
  auto second = run::open(request);
  second.plan.input = first.plan.input;
  run::set_up_process(first.plan);
  const auto output = [](const run::Session& session) {
    const auto inputs = run::make_inputs(session.plan);
    const auto result = run::forward(*model::build(session.plan), inputs);
    run::warn_of_nonfinite(session.plan.name, result);
    return result.y;
  };
  const auto a = output(first);
  return run::compare({{"y", a}}, {{"y", output(second)}});
}

run::Comparison compare_files(const Options& options) {
  const auto& a = options.a;
  if (options.input.choice() || !a.overrides.empty() || !a.device.empty() || !a.dtype.empty()) {
    throw InputError(
        "two tensor files are compared as they are: --set, --device, --dtype, --input, --tokens and --random are for "
        "two configs");
  }
  return run::compare_files(tensor_io::read_all(a.config), tensor_io::read_all(options.b));
}

/// NaN on both sides is no sign that two results are the same.
bool counts_as_equal(const run::Comparison& result, const Options& options) {
  return result.max_abs_error <= options.tolerance && (result.nan == 0 || options.equal_nan);
}

Json as_json(const run::Comparison& result, const Options& options) {
  Json object{{"max_abs_error", number_json(result.max_abs_error)},
              {"max_rel_error", number_json(result.max_rel_error)},
              {"equal", counts_as_equal(result, options)},
              {"tolerance", options.tolerance},
              {"values", result.values},
              {"nan", result.nan},
              {"one_sided_nan", result.one_sided_nan},
              {"tensors", Json::array()}};
  for (const auto& tensor : result.tensors) {
    object["tensors"].push_back({{"name", tensor.name},
                                 {"max_abs_error", number_json(tensor.max_abs_error)},
                                 {"max_rel_error", number_json(tensor.max_rel_error)},
                                 {"values", tensor.values},
                                 {"nan", tensor.nan},
                                 {"one_sided_nan", tensor.one_sided_nan},
                                 {"detail", tensor.detail}});
  }
  return object;
}

std::string_view verdict(const run::Comparison& result, const Options& options) {
  if (!(result.max_abs_error <= options.tolerance)) return "different";
  if (result.nan == 0) return "equal";
  return options.equal_nan ? "equal but for NaN" : "not shown to be equal";
}

/// "3 of 12 values are NaN on both sides"; empty = there are none.
std::string nan_text(const run::Comparison& result) {
  const auto counted = [&](std::int64_t count, const char* where) {
    if (count == 0) return std::string();
    return "; " + std::to_string(count) + " of " + std::to_string(result.values) + " values NaN on " + where;
  };
  return counted(result.nan, "both sides") + counted(result.one_sided_nan, "one side");
}

void print(const run::Comparison& result, const Options& options) {
  std::vector<std::vector<std::string>> rows{{"TENSOR", "MAX ABS ERROR", "MAX REL ERROR", ""}};
  for (const auto& tensor : result.tensors) {
    rows.push_back({tensor.name, support::number_text(tensor.max_abs_error), support::number_text(tensor.max_rel_error),
                    tensor.detail});
  }
  std::cout << table_text(rows) << verdict(result, options) << ": max abs error "
            << support::number_text(result.max_abs_error) << ", tolerance " << support::number_text(options.tolerance)
            << nan_text(result) << '\n';
}

int compare(const Global& global, const Options& options) {
  const bool files = is_tensor_file(options.a.config);
  if (files != is_tensor_file(options.b)) {
    const auto& [tensors, config] =
        files ? std::pair(options.a.config, options.b) : std::pair(options.b, options.a.config);
    throw InputError(tensors.string() + " is a file of tensors and " + config.string() +
                     " is not; expected two configs, or two .npy or .safetensors files");
  }
  const auto result = files ? compare_files(options) : compare_configs(global, options);
  if (options.json) print_json(as_json(result, options));
  else print(result, options);
  return counts_as_equal(result, options) ? kOk : kDiffers;
}

/// Not so CLI11's own check of numbers, which NaN and infinity pass.
std::string tolerance_fault(const std::string& text) {
  double number = 0;
  if (CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number >= 0) return "";
  return "got '" + support::printable(text) + "', expected a finite number of at least 0";
}

}  // namespace

void add_compare(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "compare", "two configs on one input, or two tensor files",
                              "  runner compare a.yaml b.yaml\n"
                              "  runner compare a.yaml b.yaml --random 2,6,8 --tolerance 0.001\n"
                              "  runner compare y1.npy y2.npy",
                              [&global, options] { return compare(global, *options); });
  command.add_option("A", options->a.config, "a config, or a .npy or .safetensors file")->required()->type_name("FILE");
  command.add_option("B", options->b, "another; a second config gets the first one's input")
      ->required()
      ->type_name("FILE");
  options->a.add_settings_to(command);
  options->input.add_to(command);
  command.add_option("--tolerance", options->tolerance, "largest absolute difference that counts as equal")
      ->check(CLI::Validator(tolerance_fault, "NONNEGATIVE"))
      ->capture_default_str();
  command.add_flag("--equal-nan", options->equal_nan, "count a value that is NaN on both sides as equal");
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner
