// The formats behind the interface of exporter.h. The model is in eval mode, on the CPU, and gradients are off.
#pragma once
#include <filesystem>

#include "exporter/exporter.h"

namespace headwright::exporter {

Report write_torchscript(model::Model& model, const bind::Plan& plan, const std::filesystem::path& path);
Inspection inspect_torchscript(const std::filesystem::path& path);

Report write_safetensors(model::Model& model, const bind::Plan& plan, const std::filesystem::path& path);
Inspection inspect_safetensors(const std::filesystem::path& path);

}  // namespace headwright::exporter
