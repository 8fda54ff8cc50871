// Which rectangles of queries and keys have to be computed: what a mask leaves empty is never touched.
#pragma once
#include <cstdint>
#include <vector>

#include "headwright/mask.h"

namespace headwright::core {

struct KeyRange {
  std::int64_t begin = 0, end = 0;
  bool masked = false;  // some pair in it is hidden, or may be
};

struct QueryBlock {
  std::int64_t begin = 0, end = 0;  // indices of queries
  std::vector<KeyRange> keys;       // in order, without overlap; none = these queries see nothing
};

struct BlockSizes {
  std::int64_t queries = 128;
  std::int64_t keys = 128;   // of the tiles that are asked for
  std::int64_t span = 1024;  // most keys in a range
};

/// Ranges of neighbouring tiles that are not empty, joined up to sizes.span keys.
std::vector<QueryBlock> plan_blocks(const Mask& mask, std::int64_t q_len, std::int64_t k_len, const BlockSizes& sizes);

}  // namespace headwright::core
