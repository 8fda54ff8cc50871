// Every shipped config, exported by the runner and loaded by stock Python, which knows nothing of headwright. What it
// computes there, whole and layer by layer, is compared with what the model computes here from the same input.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "bind/walk.h"
#include "exporter/dtypes.h"
#include "exporter/samples.h"
#include "helpers/command.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "model/build.h"
#include "run/forward.h"
#include "tensor_io/tensor_io.h"

namespace headwright {
namespace {

using nlohmann::json;
using PythonLoadsExports = test::TemporaryFolder;

/// What the command prints on stdout; it has to succeed. scratch: a folder for what it prints.
std::string printed(const std::string& command, const std::filesystem::path& scratch) {
  const auto outcome = test::run_command(command, scratch, scratch);
  EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.standard_output << outcome.standard_error;
  return outcome.standard_output;
}

class Case {
 public:
  Case(const std::filesystem::path& config, const std::filesystem::path& folder)
      : config_(config),
        stem_(folder / (config.parent_path().stem().string() + "." + config.stem().string())),
        plan_(bind::resolve(spec::load(config), test::shipped_plugins())),
        model_(model::build(plan_)),
        samples_(plan_) {}

  /// Exports, runs the model and each kind of attention layer, and says for Python what belongs together.
  json prepare() {
    const auto report = json::parse(printed(test::quoted(HEADWRIGHT_BUILD_DIR "/runner") + " export --json -o " +
                                                test::quoted(file(".pt")) + " " + test::quoted(config_.string()),
                                            stem_.parent_path()));
    expect_known_as_fixed(report.at("dynamic"));
    add("", exporter::signature_of(plan_.model), run::make_inputs(plan_));
    if (report.at("dynamic") == true) add_other_sizes();
    add_casts();
    return {{"config", config_.string()}, {"file", file(".pt")}, {"report", report}, {"runs", runs_}};
  }

 private:
  std::string file(const std::string& ending) const { return stem_.string() + ending; }

  /// Only these variants are exported for one size, and only where they say so.
  void expect_known_as_fixed(bool dynamic) const {
    bool fixed = false;
    for (const auto& layer : bind::walk_attentions(plan_.model)) {
      if (layer.claims->dynamic_export) continue;
      EXPECT_THAT(layer.component->variant->name, testing::AnyOf("simple_self_attention", "lsh")) << config_;
      fixed = true;
    }
    EXPECT_EQ(dynamic, !fixed) << config_;
  }

  /// Another batch size and length than the config's own, with every choice of what may be left out.
  void add_other_sizes() {
    const auto longest = plan_.model.dims.context_length;
    const exporter::Size size{.batch = 3, .seq = longest > 0 ? std::min<std::int64_t>(longest, 9) : 9, .memory_len = 4};
    const auto all = samples_.inputs(size);
    for (const auto& choice : exporter::signature_of(plan_.model).calls()) add("", choice, all);
    std::set<std::string> seen;  // layers of one block differ in nothing but their weights
    for (const auto& layer : bind::walk_attentions(plan_.model)) {
      const auto name = layer.path.substr(layer.path.rfind('.'));
      if (!seen.insert((layer.in_encoder ? "encoder " : "") + layer.block->name + name).second) continue;
      const auto own = samples_.component(size, {.item_shape = {layer.dims->d_model}});
      const auto signature = exporter::signature_of(Kind::attention, *layer.claims);
      for (const auto& choice : signature.calls()) add(layer.path, choice, own);
    }
  }

  /// What Python is to get after `.double()`, `.half()` and `.bfloat16()`: what the model computes in that dtype here.
  void add_casts() {
    const auto own = run::make_inputs(plan_);
    for (const auto dtype : exporter::kDtypes) {
      if (dtype == exporter::dtype_of(*model_, own)) continue;
      const exporter::InDtype turned(*model_, dtype);
      add("", exporter::signature_of(plan_.model), exporter::cast(own, dtype));
      runs_.back()["cast"] = model::dtype_name(dtype);
    }
  }

  /// part: a module within the model that is called on its own; empty = the model.
  void add(const std::string& part, const exporter::Signature& signature, const Inputs& all) {
    const auto names = signature.names();
    const auto values = signature.values(all);
    const auto inputs = signature.inputs(values);  // without what this part does not take
    const at::NoGradGuard no_grad;
    const auto y = part.empty() ? model_->forward(inputs) : layer(part).forward(inputs);

    tensor_io::Named given;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].defined()) given.emplace_back(names[i], values[i]);
    }
    const auto number = std::to_string(runs_.size());
    const auto input = file("." + number + ".safetensors"), output = file("." + number + ".y.safetensors");
    tensor_io::write_safetensors(input, given);
    tensor_io::write_safetensors(output, {{"y", y}});
    runs_.push_back({{"part", part}, {"input", input}, {"output", output}});
  }

  Attention& layer(const std::string& path) const {
    return dynamic_cast<Attention&>(*model_->named_modules().find(path)->get());
  }

  std::filesystem::path config_, stem_;
  bind::Plan plan_;
  std::shared_ptr<model::Model> model_;
  exporter::Samples samples_;
  json runs_ = json::array();
};

TEST_F(PythonLoadsExports, OfEveryShippedConfigAndComputesTheSame) {
  json cases = json::array();
  for (const auto& config : test::shipped_configs()) {
    cases.push_back(Case(config, in("")).prepare());
  }
  ASSERT_GT(cases.size(), 5U);
  std::ofstream(in("cases.json")) << cases.dump(2);
  printed(test::quoted(HEADWRIGHT_SOURCE_DIR "/.venv/bin/python") + " " +
              test::quoted(HEADWRIGHT_SOURCE_DIR "/tests/end_to_end/check_export.py") + " cases.json",
          in(""));
}

TEST(ShippedConfigs, UseEveryAttentionVariant) {
  std::set<std::string> used, shipped;
  for (const auto& config : test::shipped_configs()) {
    const auto plan = bind::resolve(spec::load(config), test::shipped_plugins());
    for (const auto& layer : bind::walk_attentions(plan.model)) used.insert(layer.component->variant->name);
  }
  for (const auto* variant : test::shipped_plugins().all()) {
    if (variant->kind == Kind::attention) shipped.insert(variant->name);
  }
  EXPECT_EQ(used, shipped);
}

}  // namespace
}  // namespace headwright
