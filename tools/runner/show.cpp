#include <iostream>

#include "bind/effective.h"
#include "bind/schema.h"
#include "commands.h"
#include "exit_code.h"
#include "model/build.h"
#include "print.h"
#include "reports.h"
#include "spec/emit.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

using spec::Node;

std::string place(const spec::Mark& mark) {
  return mark.line == 0 ? mark.file : mark.file + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

/// Where each value came from, by path. Lists are one value.
void origins(const Node& node, const std::string& path, std::vector<std::pair<std::string, std::string>>& found) {
  if (node.type != Node::Type::map) {
    found.emplace_back(path, place(node.mark));
    return;
  }
  for (const auto& [key, mark, value] : node.entries) origins(value, path.empty() ? key : path + "." + key, found);
}

Json as_json(const bind::Plan& plan, const model::Footprint& footprint) {
  Json object;
  object["config"] = bind::as_json(plan.resolved);
  std::vector<std::pair<std::string, std::string>> found;
  origins(plan.resolved, "", found);
  object["origins"] = Json::object();
  for (const auto& [path, origin] : found) object["origins"][path] = origin;
  object["parameters"]["total"] = footprint.parameters;
  object["parameters"]["modules"] = Json::object();
  for (const auto& [path, count] : footprint.modules) object["parameters"]["modules"][path] = count;
  object["bytes"] = footprint.bytes;
  object["kernels"] = Json::object();
  for (const auto& [path, choice] : footprint.kernels) {
    object["kernels"][path] = kernel_json(choice);
  }
  return object;
}

/// Which values nobody wrote and no default gives.
std::string remark(const Node& node) {
  const bool computed = node.mark.file == bind::computed_mark().file;
  return computed || node.mark.file == bind::computed_by_layer_mark().file ? node.mark.file : "";
}

void print(const bind::Plan& plan, const model::Footprint& footprint, bool with_origins) {
  std::cout << spec::emit(plan.resolved, remark) << '\n';
  if (with_origins) {
    std::vector<std::pair<std::string, std::string>> found;
    origins(plan.resolved, "", found);
    std::vector<std::vector<std::string>> rows{{"VALUE", "COMES FROM"}};
    for (auto& [path, origin] : found) rows.push_back({path, origin});
    std::cout << table_text(rows) << '\n';
  }
  std::vector<std::vector<std::string>> rows{{"MODULE", "PARAMETERS"}};
  for (const auto& [path, count] : footprint.modules) rows.push_back({path, support::with_thousands(count)});
  rows.push_back({"total", support::with_thousands(footprint.parameters)});
  std::cout << table_text(rows) << "\nmemory  " << support::bytes_text(static_cast<double>(footprint.bytes)) << " in "
            << plan.run.dtype << "\n\n";
  rows = {{"ATTENTION", "KERNEL", "REQUESTED", "WHY"}};
  for (const auto& [path, choice] : footprint.kernels) {
    rows.push_back({path, choice.effective, choice.requested, choice.reason});
  }
  if (rows.size() > 1) std::cout << table_text(rows);
}

}  // namespace

void add_show(CLI::App& app, Global& global) {
  struct Options {
    ConfigOptions config;
    bool json = false, origins = false;
  };
  const auto options = std::make_shared<Options>();
  const auto show = [&global, options] {
    const auto session = run::open(options->config.request(global));
    const auto footprint = model::measure(session.plan);
    if (options->json) {
      print_json(as_json(session.plan, footprint));
    } else {
      print(session.plan, footprint, options->origins);
    }
    return kOk;
  };
  auto& command = add_command(app, global, "show", "a config with every default, its parameters, memory and kernels",
                              "  runner show configs/models/gpt2_small.yaml\n"
                              "  runner show a.yaml --set model.d_model=64 --origins",
                              show);
  options->config.add_to(command);
  command.add_flag("--origins", options->origins, "where each value came from");
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner
