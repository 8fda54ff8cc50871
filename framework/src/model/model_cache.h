// What a model keeps between calls: a cache for each of its attentions, and what its encoder made of the memory.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "headwright/cache.h"

namespace headwright::model {

struct ModelCache {
  std::int64_t batch = 0, capacity = 0;  // sequences; tokens of each
  at::Tensor length;                     // () int64, on the CPU: tokens of each sequence so far
  std::map<std::string, Cache> layers;   // by the path of the attention: "blocks.0.attention"
  at::Tensor memory;                     // the encoder's output; undefined = no encoder, or not called yet

  std::int64_t tokens() const { return length.item<std::int64_t>(); }

  /// The cache of the attention at `path`; null = it keeps nothing, as cross-attention.
  Cache* of(const std::string& path);

  /// Keeps these sequences, in this order: reorders, repeats and drops rows. rows: (new batch) int64, from 0.
  /// Throws ShapeError, InputError.
  void keep_rows(const at::Tensor& rows);

  std::int64_t bytes() const;
};

}  // namespace headwright::model
