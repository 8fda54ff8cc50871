// Which kernel each attention of a model takes, and where the config asks for one that cannot.
#include <algorithm>

#include "bind/attention_slots.h"
#include "core/kernels/kernel.h"
#include "model/build.h"
#include "model/meta.h"

namespace headwright::model {
namespace {

/// The key that forces the kernel of a block: its own, or that of `run`.
std::pair<spec::Mark, std::string> forced_at(const bind::Plan& plan, bool of_encoder, const std::string& block) {
  const auto at = [&](const std::vector<std::string>& keys) {
    const auto* node = &plan.resolved;
    for (const auto& key : keys) node = node == nullptr ? nullptr : node->find(key);
    return node;
  };
  std::vector<std::string> keys{"model", "blocks", block, "kernel"};
  if (of_encoder) keys.insert(keys.begin() + 1, "encoder");
  const auto* own = at(keys);
  if (own != nullptr && own->mark.line > 0) {
    return {own->mark, std::string(of_encoder ? "model.encoder" : "model") + ".blocks." + block + ".kernel"};
  }
  const auto* of_run = at({"run", "kernel"});
  return {of_run == nullptr ? plan.resolved.mark : of_run->mark, "run.kernel"};
}

void expect_exportable(const std::string& name) {
  for (const auto& kernel : core::kernels()) {
    if (kernel->name() != name || kernel->exportable()) continue;
    throw Error("[attend] kernel '" + name + "' cannot be exported; use 'auto', which exports another one");
  }
}

}  // namespace

std::vector<std::pair<std::string, KernelChoice>> kernels_of(const Model& model) {
  std::vector<std::pair<std::string, KernelChoice>> kernels;
  for (const auto& [path, attention] : model.attentions()) kernels.emplace_back(path, attention->kernel());
  return kernels;
}

void expect_kernels(const bind::Plan& plan, Use use) {
  const auto slots = bind::attention_slots(plan.model);
  if (std::ranges::all_of(slots, [](const auto& slot) { return slot.dims->kernel == "auto"; })) return;
  const auto model = without_memory([&] { return std::make_shared<Model>(plan.model); });
  model->eval();
  std::vector<Problem> problems;
  const auto attentions = model->attentions();  // in the order of the slots
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& path = slots[i].path;
    try {
      const auto choice = attentions.at(i).second->kernel();
      if (use == Use::exported && choice.requested != "auto") expect_exportable(choice.effective);
    } catch (const Error& error) {
      const std::string text = error.what();
      const auto [mark, key] = forced_at(plan, slots[i].in_encoder, slots[i].block->name);
      const auto same = [&, key = key](const Problem& p) { return p.path == key && p.message.ends_with(text); };
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
