#include "run/compare.h"

#include <algorithm>
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
  bool json = false;
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
  run::set_up_process(first.plan.run.threads);
  const auto output = [](const run::Session& session) {
    const auto inputs = run::make_inputs(session.plan);
    return run::forward(*model::build(session.plan), inputs).y;
  };
  return run::compare({{"y", output(first)}}, {{"y", output(second)}});
}

int compare(const Global& global, const Options& options) {
  const bool files = is_tensor_file(options.a.config);
  if (files != is_tensor_file(options.b)) throw InputError("expected two configs, or two .npy or .safetensors files");
  const auto& a = options.a;
  if (files && (options.input.choice() || !a.overrides.empty() || !a.device.empty() || !a.dtype.empty())) {
    throw InputError(
        "two tensor files are compared as they are: --set, --device, --dtype, --input, --tokens and --random are for "
        "two configs");
  }
  const auto result = files ? run::compare(tensor_io::read_all(options.a.config), tensor_io::read_all(options.b))
                            : compare_configs(global, options);
  const bool equal = result.max_abs_error <= options.tolerance;
  Json object{{"max_abs_error", number_json(result.max_abs_error)},
              {"max_rel_error", number_json(result.max_rel_error)},
              {"equal", equal},
              {"tolerance", options.tolerance},
              {"tensors", Json::array()}};
  std::vector<std::vector<std::string>> rows{{"TENSOR", "MAX ABS ERROR", "MAX REL ERROR", ""}};
  for (const auto& [name, detail, abs_error, rel_error] : result.tensors) {
    object["tensors"].push_back({{"name", name},
                                 {"max_abs_error", number_json(abs_error)},
                                 {"max_rel_error", number_json(rel_error)},
                                 {"detail", detail}});
    rows.push_back({name, support::number_text(abs_error), support::number_text(rel_error), detail});
  }
  if (options.json) {
    print_json(object);
  } else {
    std::cout << table_text(rows) << (equal ? "equal" : "different") << ": max abs error "
              << support::number_text(result.max_abs_error) << ", tolerance " << support::number_text(options.tolerance)
              << '\n';
  }
  return equal ? kOk : kDiffers;
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
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner
