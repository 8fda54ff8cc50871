// Finds what would tie an exported graph to one device.
#pragma once
#include <memory>
#include <optional>
#include <string>

namespace torch::jit {
struct Graph;
}

namespace headwright::exporter {

/// The first thing in the graph that stays on its device when the module moves to another, or nothing.
std::optional<std::string> device_tie(const torch::jit::Graph& graph);

}  // namespace headwright::exporter
