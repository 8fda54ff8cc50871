// Which kernel each attention of a model takes, and where the config asks for one that cannot.
#include <algorithm>
#include <map>

#include "bind/walk.h"
#include "core/kernels/kernel.h"
#include "model/build.h"
#include "model/meta.h"

namespace headwright::model {
namespace {

void expect_exportable(const std::string& name) {
  for (const auto& kernel : core::kernels()) {
    if (kernel->name() != name || kernel->exportable()) continue;
    throw Error("[attend] kernel '" + name + "' cannot be exported; use 'auto', which exports another one");
  }
}

}  // namespace

std::vector<std::pair<std::string, KernelChoice>> kernels_of(const Model& model) {
  std::vector<std::pair<std::string, KernelChoice>> kernels;
  for (const auto& attention : model.attentions()) kernels.emplace_back(attention.path, attention.module->kernel());
  return kernels;
}

void expect_kernels(const bind::Plan& plan, Use use) {
  const auto places = bind::walk_attentions(plan.model);
  if (std::ranges::all_of(places, [](const auto& place) { return place.dims->kernel == "auto"; })) return;
  const auto model = without_memory([&] { return std::make_shared<Model>(plan.model); });
  model->eval();
  std::vector<Problem> problems;
  std::map<std::string, std::shared_ptr<Attention>> at;
  for (const auto& attention : model->attentions()) at[attention.path] = attention.module;
  for (const auto& place : places) {
    const auto& path = place.path;
    try {
      const auto choice = at.at(path)->kernel();
      if (use == Use::exported && choice.requested != "auto") expect_exportable(choice.effective);
    } catch (const Error& error) {
      const std::string text = error.what();
      const auto& own = *place.block;
      const auto& mark = own.kernel_mark.line > 0 ? own.kernel_mark : plan.run.kernel_mark;
      const auto& key = own.kernel_path;
      const auto same = [&](const Problem& p) { return p.path == key && p.message.ends_with(text); };
      if (const auto known = std::ranges::find_if(problems, same); known != problems.end()) {
        known->message.insert(known->message.size() - text.size() - 2, ", " + path);  // another layer
        continue;
      }
      problems.push_back(
          {.file = mark.file, .line = mark.line, .column = mark.column, .path = key, .message = path + ": " + text});
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

}  // namespace headwright::model
