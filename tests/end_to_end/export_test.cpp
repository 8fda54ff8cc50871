// Every shipped config, exported by the runner and loaded by stock Python, which knows nothing of headwright. What it
// computes there is compared with what `runner forward` computes from the same input.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "model/build.h"
#include "run/forward.h"
#include "tensor_io/tensor_io.h"

namespace headwright {
namespace {

using nlohmann::json;
using PythonLoadsExports = test::TemporaryFolder;

/// Runs a command line; its output goes to `log`.
void shell(const std::string& command, const std::filesystem::path& log) {
  const auto status = std::system((command + " > '" + log.string() + "' 2>&1").c_str());
  std::ifstream text(log);
  ASSERT_EQ(status, 0) << command << "\n" << std::string(std::istreambuf_iterator<char>(text), {});
}

/// Inputs of another batch size and length than the config's own.
Inputs other_inputs(const bind::ModelPlan& model, at::ScalarType dtype) {
  Inputs inputs;
  const std::int64_t batch = 3,
                     seq = model.dims.context_length > 0 ? std::min<std::int64_t>(model.dims.context_length, 9) : 9;
  inputs.x = model.embedding ? at::randint(0, model.embedding->vocab_size, {batch, seq})
                             : at::randn({batch, seq, model.dims.d_model}).to(dtype);
  if (model.takes_context()) inputs.context = at::randn({batch, 4, model.dims.d_context}).to(dtype);
  return inputs;
}

tensor_io::Named named(const Inputs& inputs) {
  tensor_io::Named all;
  for (const auto& [name, tensor] : {std::pair{"x", inputs.x},
                                     {"context", inputs.context},
                                     {"key_mask", inputs.key_mask},
                                     {"context_mask", inputs.context_mask}}) {
    if (tensor.defined()) all.emplace_back(name, tensor);
  }
  return all;
}

class Case {
 public:
  Case(const std::filesystem::path& config, const std::filesystem::path& folder)
      : config_(config), stem_(folder / config.stem()) {}

  /// Exports, runs the model on two inputs, and says for Python what belongs together.
  json prepare() {
    const auto plan = bind::resolve(spec::load(config_), test::shipped_plugins());
    at::manual_seed(5);
    json it{{"config", config_.string()}, {"file", file(".pt")}};
    runner("export '" + config_.string() + "' --json -o '" + file(".pt") + "'", file(".json"));
    std::ifstream(file(".json")) >> it["report"];
    it["runs"].push_back(forward("own", run::make_inputs(plan), ""));
    if (it["report"].at("dynamic") == true) {
      const auto inputs = other_inputs(plan.model, model::dtype_from(plan.run.dtype));
      const auto saved = file(".other.safetensors");
      std::string input = "{file: " + saved + ", tensor: x";
      if (inputs.context.defined()) input += ", context: {file: " + saved + ", tensor: context}";
      it["runs"].push_back(forward("other", inputs, " --set 'input=" + input + "}'"));
    }
    return it;
  }

 private:
  std::string file(const std::string& ending) const { return stem_.string() + ending; }

  static void runner(const std::string& arguments, const std::filesystem::path& log) {
    shell(HEADWRIGHT_BUILD_DIR "/runner " + arguments, log);
  }

  json forward(const std::string& name, const Inputs& inputs, const std::string& options) {
    const auto input = file("." + name + ".safetensors"), output = file("." + name + ".y.safetensors");
    tensor_io::write_safetensors(input, named(inputs));
    runner("forward '" + config_.string() + "' -o '" + output + "'" + options, file(".log"));
    return {{"input", input}, {"output", output}};
  }

  std::filesystem::path config_, stem_;
};

TEST_F(PythonLoadsExports, OfEveryShippedConfigAndComputesTheSame) {
  json cases = json::array();
  for (const auto& config : test::shipped_configs()) {
    cases.push_back(Case(config, in("")).prepare());
    if (HasFatalFailure()) return;
  }
  ASSERT_GT(cases.size(), 5U);
  std::ofstream(in("cases.json")) << cases.dump(2);
  shell(HEADWRIGHT_SOURCE_DIR "/.venv/bin/python " HEADWRIGHT_SOURCE_DIR "/tests/end_to_end/check_export.py '" +
            in("cases.json").string() + "'",
        in("python.log"));
}

}  // namespace
}  // namespace headwright
