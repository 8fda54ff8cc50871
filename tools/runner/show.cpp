// `runner show`: a config with every value, and what the model takes.
#include <algorithm>
#include <iostream>

#include "bind/config.h"
#include "bind/schema.h"
#include "commands.h"
#include "exit_code.h"
#include "model/build.h"
#include "print.h"
#include "reports.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

/// The blocks of a stack, each once, by name.
std::vector<const bind::BlockPlan*> distinct_blocks(const bind::StackPlan& stack) {
  std::vector<const bind::BlockPlan*> found;
  for (const auto& block : stack.blocks) {
    if (std::ranges::find(found, block.name, [](const auto* it) { return it->name; }) == found.end()) {
      found.push_back(&block);
    }
  }
  return found;
}

std::string name_of(const Component& component) { return component ? component.variant->name : ""; }

/// A sublayer as the row of a long form.
Json sublayer_json(const bind::SublayerPlan& plan) {
  Json row{{"name", plan.name}, {std::string(to_string(plan.component.variant->kind)), name_of(plan.component)}};
  const auto norm = [&](const char* key, const Component& component) {
    if (component) row[key] = name_of(component);
  };
  norm("norm", plan.norm);
  if (!plan.shared_norm.empty()) row["shared_norm"] = plan.shared_norm;
  norm("output_norm", plan.output_norm);
  norm("residual_norm", plan.residual_norm);
  row["input"] = plan.input == bind::Reads::block ? "block" : "previous";
  row["residual"] = plan.residual;
  row["residual_scale"] = plan.residual_scale;
  row["dropout"] = plan.dropout;
  return row;
}

Json blocks_json(const bind::StackPlan& stack) {
  auto blocks = Json::object();
  for (const auto* block : distinct_blocks(stack)) {
    auto rows = Json::array();
    for (const auto& sublayer : block->sublayers) rows.push_back(sublayer_json(sublayer));
    blocks[block->name] = std::move(rows);
  }
  return blocks;
}

/// Each sublayer as the sum that it is: "x + attention(rms_norm(x))".
std::string sum_text(const bind::SublayerPlan& plan) {
  const auto wrapped = [](const Component& norm, const std::string& text) {
    return norm ? name_of(norm) + "(" + text + ")" : text;
  };
  std::string read = plan.input == bind::Reads::block ? "block" : "x";
  read = plan.shared_norm.empty() ? wrapped(plan.norm, read) : plan.shared_norm + "_norm(" + read + ")";
  auto y = wrapped(plan.output_norm, name_of(plan.component) + "(" + read + ")");
  if (plan.residual_scale != 1) y = support::number_text(plan.residual_scale) + " " + y;
  return wrapped(plan.residual_norm, plan.residual ? "x + " + y : y);
}

void print_blocks(const bind::StackPlan& stack, const std::string& prefix) {
  std::vector<std::vector<std::string>> rows{{"BLOCK", "SUBLAYER", "X BECOMES"}};
  for (const auto* block : distinct_blocks(stack)) {
    for (const auto& sublayer : block->sublayers) {
      rows.push_back({prefix + block->name, sublayer.name, sum_text(sublayer)});
    }
  }
  if (rows.size() > 1) std::cout << table_text(rows) << '\n';
}

Json cache_json(const model::CacheFootprint& cache) {
  Json object{{"bytes_per_token", cache.per_token}, {"fixed_bytes", cache.fixed}};
  if (cache.tokens > 0) {
    object["tokens"] = cache.tokens;
    object["bytes"] = cache.whole;
  }
  return object;
}

std::string cache_text(const model::CacheFootprint& cache) {
  const auto bytes = [](std::int64_t count) { return support::bytes_text(static_cast<double>(count)); };
  auto text = support::with_thousands(cache.per_token) + " bytes a token";
  if (cache.fixed > 0) text += " and " + bytes(cache.fixed) + " whatever the length";
  if (cache.tokens > 0) {
    text += ", " + bytes(cache.whole) + " for a sequence of " + support::with_thousands(cache.tokens) + " tokens";
  }
  return text;
}

Json as_json(const bind::Plan& plan, const model::Footprint& footprint) {
  Json object;
  object["config"] = bind::as_json(plan);
  object["origins"] = Json::object();
  for (const auto& [path, origin] : bind::origins(plan)) object["origins"][path] = origin;
  object["parameters"]["total"] = footprint.parameters;
  object["parameters"]["modules"] = Json::object();
  for (const auto& [path, count] : footprint.modules) object["parameters"]["modules"][path] = count;
  object["bytes"] = footprint.bytes;
  object["cache"] = footprint.cache ? cache_json(*footprint.cache) : Json(nullptr);
  object["blocks"] = blocks_json(plan.model);
  if (plan.model.encoder) object["encoder_blocks"] = blocks_json(*plan.model.encoder);
  object["kernels"] = Json::object();
  for (const auto& [path, choice] : footprint.kernels) {
    object["kernels"][path] = kernel_json(choice);
  }
  return object;
}

void print(const bind::Plan& plan, const model::Footprint& footprint, bool with_origins) {
  std::cout << bind::annotated_text(plan) << '\n';
  if (with_origins) {
    std::vector<std::vector<std::string>> rows{{"VALUE", "COMES FROM"}};
    for (const auto& [path, origin] : bind::origins(plan)) rows.push_back({path, origin});
    std::cout << table_text(rows) << '\n';
  }
  if (plan.model.encoder) print_blocks(*plan.model.encoder, "encoder.");
  print_blocks(plan.model, "");
  std::vector<std::vector<std::string>> rows{{"MODULE", "PARAMETERS"}};
  for (const auto& [path, count] : footprint.modules) rows.push_back({path, support::with_thousands(count)});
  rows.push_back({"total", support::with_thousands(footprint.parameters)});
  std::cout << table_text(rows) << "\nmemory  " << support::bytes_text(static_cast<double>(footprint.bytes)) << " in "
            << plan.run.dtype << "\ncache   " << (footprint.cache ? cache_text(*footprint.cache) : "none") << "\n\n";
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
