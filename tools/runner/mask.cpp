// `runner mask`: which keys each layer's queries see.
#include "core/masks/mask_drawing.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "commands.h"
#include "core/kernels/kernel.h"
#include "exit_code.h"
#include "model/meta.h"
#include "model/model.h"
#include "print.h"
#include "run/forward.h"
#include "support/files.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

struct Options {
  ConfigOptions config;
  std::int64_t seq_len = 0, tile_size = 128, cells = 48;
  std::string layer;
  std::filesystem::path svg;
  bool json = false;
};

/// Where queries and keys come from.
enum class Source { tokens, memory, tokens_to_memory };

/// Each layer's mask, once: layers of one block share it.
struct Layer {
  std::string path;
  Source source;
  Scoring scoring;
  std::int64_t q_len = 0, k_len = 0;
};

/// What a layer shows by its mask, and by being causal whatever its parameters.
Mask mask_of(const model::AttentionAt& attention) {
  const auto mask = attention.module->mask();
  if (!attention.plan->claims.causal || mask.hides_future()) return mask;
  return mask.sees_everything() ? Mask::causal() : Mask::all({Mask::causal(), mask});
}

/// Every attention with the mask that it says it has, an encoder's first.
std::vector<Layer> all_layers(const bind::ModelPlan& plan) {
  const auto model = model::without_memory([&] { return std::make_shared<model::Model>(plan); });
  std::vector<Layer> layers;
  for (const auto& attention : model->attentions()) {
    auto source = attention.in_encoder ? Source::memory : Source::tokens;
    if (attention.plan->claims.memory) source = Source::tokens_to_memory;
    layers.push_back({attention.path, source, {.mask = mask_of(attention)}});
  }
  return layers;
}

/// The layer called `only`, or each mask once.
std::vector<Layer> layers_of(const bind::ModelPlan& model, const std::string& only) {
  std::vector<Layer> layers;
  std::vector<std::string> paths;
  std::vector<std::pair<Source, std::string>> seen;
  for (auto& layer : all_layers(model)) {
    const std::pair kind(layer.source, layer.scoring.mask.to_string());
    paths.push_back(layer.path);
    if (only.empty() ? std::ranges::find(seen, kind) != seen.end() : layer.path != only) continue;
    seen.push_back(kind);
    layers.push_back(std::move(layer));
  }
  if (!layers.empty()) return layers;
  if (paths.empty()) throw InputError("no layer of this model is an attention, so there is no mask to draw");
  throw InputError("--layer: got '" + support::printable(only) + "', expected one of " + support::join(paths, ", "));
}

/// The config's own input, if it has one and no other length is asked for.
std::optional<Inputs> own_inputs(const bind::Plan& plan, std::int64_t seq_len) {
  if (plan.input.x.from == bind::TensorSource::From::nothing) return {};
  auto inputs = run::make_inputs(plan);
  if (inputs.x.size(0) == 0 || (seq_len > 0 && seq_len != inputs.x.size(1))) return {};
  return inputs;
}

/// Lengths, and what the config's input says of the keys of its first row.
void take_input(const bind::Plan& plan, std::vector<Layer>& layers, std::int64_t seq_len) {
  const auto inputs = own_inputs(plan, seq_len);
  const auto first_row = [](const at::Tensor& x) { return x.defined() ? x.slice(0, 0, 1).cpu() : x; };
  for (auto& layer : layers) {
    constexpr std::int64_t kTokens = 24;
    layer.q_len = layer.k_len = seq_len > 0 ? seq_len : kTokens;
    if (!inputs) continue;
    const bool of_memory = layer.source != Source::tokens && inputs->memory.defined();
    layer.k_len = (of_memory ? inputs->memory : inputs->x).size(1);
    layer.q_len = layer.source == Source::memory ? layer.k_len : inputs->x.size(1);
    layer.scoring.key_mask = first_row(of_memory ? inputs->memory_mask : inputs->key_mask);
    if (layer.source == Source::tokens) layer.scoring.document_ids = first_row(inputs->document_ids);
  }
}

Json as_json(const Layer& layer, const core::MaskView& view) {
  Json object;
  object["module"] = layer.path;
  object["mask"] = view.text;
  object["seq_len"] = view.q_len;
  object["key_len"] = view.k_len;
  object["density"] = view.density;
  object["tiles"] = {{"size", view.tile_size}, {"empty", view.empty}, {"partial", view.partial}, {"full", view.full}};
  object["cell"] = view.cell;
  object["rows"] = core::draw_text(view);
  return object;
}

void print(const Layer& layer, const core::MaskView& view) {
  std::cout << layer.path << ": " << view.text << "\n"
            << support::number_text(std::round(view.density * 1e5) / 1e3) << "% of " << view.q_len << " x "
            << view.k_len << " pairs visible; tiles of " << view.tile_size << ": " << view.empty << " empty, "
            << view.partial << " partial, " << view.full << " full\n";
  if (view.cell > 1) std::cout << "one character is " << view.cell << " x " << view.cell << " pairs\n";
  std::cout << "rows: queries, columns: keys, # visible, . hidden, + partly\n\n";
  for (const auto& line : core::draw_text(view)) std::cout << "  " << line << "\n";
  std::cout << "\n";
}

int mask(const Global& global, const Options& options) {
  expect_apart({{"CONFIG", options.config.config}, {"--svg", options.svg}});
  const auto session = run::open(options.config.request(global));
  auto layers = layers_of(session.plan.model, options.layer);
  if (!options.svg.empty() && options.svg.extension() != ".svg") {
    throw InputError("--svg " + options.svg.string() + ": expected a name that ends in .svg");
  }
  take_input(session.plan, layers, options.seq_len);
  if (!options.svg.empty() && layers.size() > 1) {
    std::vector<std::string> paths;
    for (const auto& layer : layers) paths.push_back(layer.path);
    throw InputError("--svg draws one mask, but the layers have " + std::to_string(layers.size()) +
                     "; choose with --layer one of " + support::join(paths, ", "));
  }
  Json masks = Json::array();
  for (const auto& layer : layers) {
    const auto view = core::view_mask(layer.scoring, layer.q_len, layer.k_len, options.tile_size, options.cells);
    if (options.json) masks.push_back(as_json(layer, view));
    else print(layer, view);
    if (options.svg.empty()) continue;
    const auto fine = core::view_mask(layer.scoring, layer.q_len, layer.k_len, options.tile_size, 256);
    support::write_file(options.svg, core::draw_svg(fine, session.plan.name + ": " + layer.path));
  }
  if (options.json) print_json({{"name", session.plan.name}, {"masks", masks}});
  return kOk;
}

}  // namespace

void add_mask(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "mask", "draw which keys each layer's queries see",
                              "  runner mask configs/attention/longformer.yaml\n"
                              "  runner mask configs/attention/bigbird.yaml --seq-len 1024 --svg bigbird.svg",
                              [&global, options] { return mask(global, *options); });
  options->config.add_to(command);
  command.add_option("--seq-len", options->seq_len, "tokens; absent = the input's, or 24")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{32768}));
  command.add_option("--tile-size", options->tile_size, "tokens along the side of a tile")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
      ->capture_default_str();
  command.add_option("--cells", options->cells, "most rows and columns of the drawing in text")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->capture_default_str();
  command.add_option("--layer", options->layer,
                     "the layer to draw, such as blocks.0.attention; absent = each mask once");
  command.add_option("--svg", options->svg, "write a picture of one mask")->type_name("FILE");
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner
