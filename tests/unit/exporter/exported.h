// A config on its way to an exported file and back, and configs that the tests share.
#pragma once
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/serialization/import.h>

#include <string>
#include <vector>

#include "exporter/exporter.h"
#include "headwright/errors.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "model/build.h"

namespace headwright::exporter {

inline const std::string kGpt = R"(
name: small_gpt
model:
  d_model: 12
  n_heads: 4
  n_kv_heads: 2
  context_length: 20
  embedding: {vocab_size: 11, position: learned, dropout: 0.9}
  blocks:
    dense:
      order: pre_norm
      dropout: 0.9
      norm: layer_norm
      attention: {name: softmax, mask: causal, qkv_bias: true, dropout: 0.9}
      feed_forward: {name: gelu, approximate: tanh}
  layers: [{use: dense, repeat: 2}]
  final_norm: layer_norm
  head: {tied: true}
input: {tokens: [[1, 2, 3]]}
)";

/// One layer with the given block, plain unless it says otherwise; features of width 6 come in. Heads are given where
/// the attention reads them.
inline std::string layer(const std::string& block) {
  const bool heads = block.find("softmax") != std::string::npos || block.find("multi_head") != std::string::npos;
  const std::string order = block.starts_with("order") ? "" : "order: plain, ";
  return std::string("name: one_layer\nmodel:\n  d_model: 6\n") + (heads ? "  n_heads: 2\n" : "") +
         "  context_length: 16\n  blocks: {only: {" + order + block +
         "}}\n  layers: [only]\ninput: {random: {shape: [2, 5, 6]}}\n";
}

inline const std::string kCross = R"(
name: decoder
model:
  d_model: 8
  n_heads: 2
  blocks:
    own: {order: post_norm, norm: rms_norm, attention: {name: softmax, mask: causal}}
    cross: {order: post_norm, norm: rms_norm, attention: {name: softmax, cross: true}, feed_forward: relu}
  layers: [own, cross]
input:
  random: {shape: [2, 4, 8]}
  memory: {random: {shape: [2, 3, 8]}}
)";

class Exports : public test::TemporaryFolder {
 protected:
  struct Exported {
    bind::Plan plan;
    std::shared_ptr<model::Model> model;
    Report report;
    torch::jit::Module loaded;
  };

  Exported exported(bind::Plan plan) const {
    auto model = model::build(plan);
    auto report = write(*model, plan, "torchscript", in("model.pt"));
    return {std::move(plan), model, report, torch::jit::load(in("model.pt").string())};
  }
  Exported exported(const std::string& yaml) const { return exported(test::plan_of(yaml)); }

  static at::Tensor eager(const Exported& it, const Inputs& inputs) {
    const at::NoGradGuard no_grad;
    return it.model->forward(inputs);
  }
};

inline torch::jit::Module child(const torch::jit::Module& module, const std::vector<std::string>& names) {
  auto at = module;
  for (const auto& name : names) at = at.attr(name).toModule();
  return at;
}

}  // namespace headwright::exporter
