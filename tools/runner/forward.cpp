// `runner forward`: one forward pass.
#include "run/forward.h"

#include <cmath>
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "model/build.h"
#include "print.h"
#include "reports.h"
#include "run/saved_attention.h"
#include "support/text.h"
#include "tensor_io/tensor_io.h"

namespace headwright::runner {
namespace {

struct Options {
  ConfigOptions config;
  InputOptions input;
  bool json = false, full = false;
  std::filesystem::path output, attention_out;
  run::WeightRequest weights;
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
  object["kernel_choices"] = Json::object();
  for (const auto& [path, choice] : result.kernels) {
    object["kernels"][path] = choice.effective;
    object["kernel_choices"][path] = kernel_json(choice);
  }
  auto& y = object["outputs"]["y"] = tensor_json(result.y, full);
  y["nan"] = result.nonfinite.nan;
  y["inf"] = result.nonfinite.inf;
  if (!result.nonfinite.first.empty()) object["first_nonfinite"] = result.nonfinite.first;
  return object;
}

void print(const bind::Plan& plan, const model::Model& model, const run::Forward& result, const Options& options) {
  std::cout << plan.name << ": " << support::with_thousands(model::count_parameters(model)) << " parameters, "
            << plan.run.dtype << " on " << result.y.device().str() << ", "
            << support::number_text(std::round(result.seconds * 1e5) / 100) << " ms\n\ny "
            << tensor_text(result.y, options.decimals, options.full) << '\n';
}

/// FILE of FILE[:TENSOR].
std::filesystem::path file_of(const std::string& input) {
  return std::filesystem::exists(input) ? input : input.substr(0, input.rfind(':'));
}

int forward(const Global& global, const Options& options) {
  expect_apart({{"CONFIG", options.config.config},
                {"--input", file_of(options.input.file)},
                {"--output", options.output},
                {"--attention-out", options.attention_out}});
  auto request = options.config.request(global);
  request.input = options.input.choice();
  const auto session = run::open(request);
  run::set_up_process(session.plan);
  auto inputs = run::make_inputs(session.plan);
  const auto model = model::build(session.plan);
  Recorder recorder;
  if (!options.attention_out.empty()) {
    run::want_weights(recorder, *model, inputs, options.weights);
    inputs.recorder = &recorder;
  }
  const auto result = run::forward(*model, inputs);
  run::warn_of_nonfinite(session.plan.name, result);
  if (!options.attention_out.empty()) {
    tensor_io::write_tensors(options.attention_out, run::recorded_weights(recorder, *model, options.weights));
  }
  if (!options.output.empty()) tensor_io::write_tensors(options.output, {{"y", result.y}});
  if (options.json) {
    print_json(as_json(session.plan, *model, result, options.full));
  } else {
    print(session.plan, *model, result, options);
  }
  return kOk;
}

void add_attention_out_to(CLI::App& command, Options& options) {
  auto* out =
      command.add_option("--attention-out", options.attention_out,
                         "save the attention weights (batch, heads, queries, keys) of each layer as .safetensors");
  out->type_name("FILE");
  const auto add_list = [&](const char* name, auto& list, const char* meaning) {
    command.add_option(name, list, meaning)->delimiter(',')->allow_extra_args(false)->needs(out);
  };
  add_list("--layers", options.weights.layers, "whose attention weights: indices or module paths; absent = all");
  add_list("--heads", options.weights.rows.heads, "whose attention weights, in the order given; absent = all");
  add_list("--queries", options.weights.rows.queries,
           "whose attention weights, as positions of the input, in the order given; absent = all");
}

}  // namespace

void add_forward(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command =
      add_command(app, global, "forward", "run a config and print the result",
                  "  runner forward configs/lessons/multi_head_attention.yaml\n"
                  "  runner forward configs/models/tiny_gpt.yaml --tokens 1,2,3 --json\n"
                  "  runner forward a.yaml --set model.n_heads=4 --input x.npy -o y.safetensors\n"
                  "  runner forward a.yaml --attention-out w.safetensors --layers 0 --heads 0,1 --queries 5",
                  [&global, options] { return forward(global, *options); });
  options->config.add_to(command);
  options->input.add_to(command);
  command.add_option("-o,--output", options->output, "save the result as .npy or .safetensors")->type_name("FILE");
  add_attention_out_to(command, *options);
  command.add_option("--decimals", options->decimals, "digits after the point")
      ->check(CLI::Range(0, 17))
      ->capture_default_str();
  command.add_flag("--full", options->full, "print every value, however many there are");
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner
