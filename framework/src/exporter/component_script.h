// One component of the tree: its mirror, its traced or written forward.
#pragma once
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>

#include "exporter/script.h"

namespace headwright::exporter {

using Unit = std::shared_ptr<torch::jit::CompilationUnit>;

/// A module with the same parameters, buffers and children, without methods. `name`: of its TorchScript class.
torch::jit::Module mirror(const torch::nn::Module& module, const std::string& name, const Unit& unit);

/// A module that holds others.
torch::jit::Module container(const std::string& name, const Unit& unit);

/// Makes part.scripted: the mirror of part.module with its `forward`. Where inputs may be left out or the shape is
/// fixed, traces of each way to call it stand behind it: `forward_plain`, `forward_key_mask`,
/// `forward_key_mask_document_ids`; and one more for a dtype in which it does something else, `forward_plain_float64`.
/// text: what the variant wrote itself; empty = trace it.
void write_component(Part& part, const Inputs& example, const std::string& text, const Unit& unit);

}  // namespace headwright::exporter
