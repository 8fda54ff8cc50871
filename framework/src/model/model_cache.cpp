// Finds the cache of a layer, and keeps or drops rows in all of them at once.
#include "model/model_cache.h"

#include <ATen/ATen.h>

#include "headwright/shapes.h"

namespace headwright::model {

Cache* ModelCache::of(const std::string& path) {
  const auto found = layers.find(path);
  return found == layers.end() ? nullptr : &found->second;
}

void ModelCache::keep_rows(const at::Tensor& rows) {
  if (rows.dim() != 1 || rows.scalar_type() != at::kLong) {
    refuse_shape("cache", "rows", rows, "(rows) int64, the sequences to keep");
  }
  if (rows.numel() > 0 && (rows.min().item<std::int64_t>() < 0 || rows.max().item<std::int64_t>() >= batch)) {
    throw InputError("[cache] rows: got a row outside of 0 to " + std::to_string(batch - 1));
  }
  const auto chosen = [&](at::Tensor& tensor) { tensor = tensor.index_select(0, rows.to(tensor.device())); };
  for (auto& [path, cache] : layers) {
    for (auto& [name, tensor] : cache.tensors) chosen(tensor);
  }
  if (memory.defined()) chosen(memory);
  batch = rows.size(0);
}

std::int64_t ModelCache::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [path, cache] : layers) {
    for (const auto& [name, tensor] : cache.tensors) {
      sum += tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
    }
  }
  return sum;
}

}  // namespace headwright::model
