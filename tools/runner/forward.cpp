#include "run/forward.h"

#include <cmath>
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "model/build.h"
#include "print.h"
#include "support/text.h"
#include "tensor_io/tensor_io.h"

namespace headwright::runner {
namespace {

struct Options {
  ConfigOptions config;
  InputOptions input;
  bool json = false, full = false;
  std::filesystem::path output;
  int decimals = 4;
};

Json as_json(const bind::Plan& plan, const model::Model& model, const run::Forward& result, bool full) {
  Json object;
  object["name"] = plan.name;
  object["device"] = result.y.device().str();
  object["dtype"] = plan.run.dtype;
  object["parameters"] = model::count_parameters(model);
  object["seconds"] = result.seconds;
  object["kernels"] = Json::object();
  for (const auto& [path, choice] : result.kernels) object["kernels"][path] = choice.effective;
  object["outputs"]["y"] = tensor_json(result.y, full);
  return object;
}

void print(const bind::Plan& plan, const model::Model& model, const run::Forward& result, const Options& options) {
  std::cout << plan.name << ": " << support::with_thousands(model::count_parameters(model)) << " parameters, "
            << plan.run.dtype << " on " << result.y.device().str() << ", "
            << support::number_text(std::round(result.seconds * 1e5) / 100) << " ms\n\ny "
            << tensor_text(result.y, options.decimals, options.full) << '\n';
}

int forward(const Global& global, const Options& options) {
  auto request = options.config.request(global);
  request.input = options.input.choice();
  const auto session = run::open(request);
  run::set_up_process(session.plan.run.threads);
  const auto inputs = run::make_inputs(session.plan);
  const auto model = model::build(session.plan);
  const auto result = run::forward(*model, inputs);
  if (!options.output.empty()) tensor_io::write_tensors(options.output, {{"y", result.y}});
  if (options.json) {
    print_json(as_json(session.plan, *model, result, options.full));
  } else {
    print(session.plan, *model, result, options);
  }
  return kOk;
}

}  // namespace

void add_forward(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "forward", "run a config and print the result",
                              "  runner forward configs/lessons/multi_head_attention.yaml\n"
                              "  runner forward configs/models/tiny_gpt.yaml --tokens 1,2,3 --json\n"
                              "  runner forward a.yaml --set model.n_heads=4 --input x.npy -o y.safetensors",
                              [&global, options] { return forward(global, *options); });
  options->config.add_to(command);
  options->input.add_to(command);
  command.add_option("-o,--output", options->output, "save the result as .npy or .safetensors")->type_name("FILE");
  command.add_option("--decimals", options->decimals, "digits after the point")
      ->check(CLI::Range(0, 17))
      ->capture_default_str();
  command.add_flag("--full", options->full, "print every value, however many there are");
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner
