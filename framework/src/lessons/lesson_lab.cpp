// Runs a lesson's config with a recorder, and keeps what it showed.
#include "lessons/lesson_lab.h"

#include <ATen/ATen.h>

#include "headwright/errors.h"
#include "headwright/shapes.h"
#include "model/build.h"
#include "run/session.h"

namespace headwright::lessons {
namespace {

constexpr std::string_view kAttentionPath = "blocks.0.attention";

std::filesystem::path config_file(const std::string& stem) { return configs_folder() / "lessons" / (stem + ".yaml"); }

}  // namespace

Experiment::Experiment(const run::Request& request, const Inputs& given) : plan_(run::open(request).plan) {
  inputs = given.x.defined() ? given : run::make_inputs(plan_);
  model = model::build(plan_);
  if (model->blocks.empty() || !model->blocks[0]->sublayers().front().attention) {
    throw InputError(request.config.string() + ": the lesson needs an attention in its first block");
  }
  run(inputs.x);
}

void Experiment::run(const at::Tensor& x) {
  recorder = {};
  inputs.x = x;
  inputs.recorder = &recorder;
  y = run::forward(*model, inputs).y;
  inputs.recorder = nullptr;  // an Experiment may move, its recorder with it
}

at::Tensor Experiment::noted(std::string_view name) const {
  for (const auto& note : recorder.notes()) {
    if (note.path == kAttentionPath && note.name == name) return note.value;
  }
  throw InputError("the lesson looks at '" + std::string(name) + "', which '" + variant() + "' does not note");
}

at::Tensor Experiment::tensor(const std::string& name) const {
  const auto parameters = attention().named_parameters(), buffers = attention().named_buffers();
  if (const auto* parameter = parameters.find(name)) return *parameter;
  if (const auto* buffer = buffers.find(name)) return *buffer;
  throw InputError("the lesson looks at the tensor '" + name + "', which '" + variant() + "' does not have");
}

const std::string& Experiment::variant() const {
  return plan_.model.blocks[0].sublayers.front().component.variant->name;
}

Attention& Experiment::attention() const { return *model->blocks[0]->sublayers().front().attention; }

Lab::Lab(LessonInfo info, std::vector<std::string> overrides, std::vector<std::filesystem::path> plugin_path)
    : result_{std::move(info), {}, {}}, overrides_(std::move(overrides)), plugin_path_(std::move(plugin_path)) {}

Experiment Lab::run(const std::vector<std::string>& changes) const {
  auto all = overrides_;
  all.insert(all.end(), changes.begin(), changes.end());
  return {{.config = config_file(result_.info.config), .overrides = all, .plugin_path = plugin_path_}, {}};
}

Experiment Lab::run_beside(const std::string& config, const std::vector<std::string>& changes,
                           const Inputs& inputs) const {
  std::vector<std::string> all;
  for (const auto& assignment : overrides_) {
    if (assignment.starts_with("run.")) all.push_back(assignment);
  }
  all.insert(all.end(), changes.begin(), changes.end());
  return {{.config = config_file(config), .overrides = all, .plugin_path = plugin_path_}, inputs};
}

void Lab::show(std::string name, std::string meaning, const at::Tensor& value) {
  result_.steps.push_back({std::move(name), std::move(meaning), value.detach()});
}

void Lab::show_notes(const Experiment& experiment, const std::map<std::string, std::string>& renamed) {
  for (const auto& note : experiment.recorder.notes()) {
    auto name = note.name;
    if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
    const auto inside = std::string(kAttentionPath) + ".";
    if (note.path.starts_with(inside)) name = note.path.substr(inside.size()) + "." + name;
    show(name, note.meaning, note.value);
  }
}

void Lab::expect_figures(std::string name, const at::Tensor& tensor, const std::vector<double>& expected) {
  if (overrides_.empty()) expect(check_figures(std::move(name), tensor, expected));
}

std::string attention_param(const std::string& name, const std::string& value) {
  return "model.blocks.only.attention." + name + "=" + value;
}

std::string model_key(const std::string& name, std::int64_t value) {
  return "model." + name + "=" + std::to_string(value);
}

void expect_tokens(const at::Tensor& x, std::int64_t fewest) {
  if (x.size(0) > 0 && x.size(1) >= fewest) return;
  refuse_shape("lesson", "input", x, "at least one sequence of " + std::to_string(fewest) + " tokens");
}

}  // namespace headwright::lessons
