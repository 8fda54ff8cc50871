// The named blocks of a model or of its encoder: a short order or the long form, as a list of sublayers.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bind/plan.h"
#include "bind/reader.h"
#include "bind/tables.h"

namespace headwright::bind {

/// A sublayer as it is written, before it has a place in the stack, and where its parts stand.
struct SublayerDraft {
  SublayerPlan plan;  // without sizes and claims
  std::string slot;   // "attention", "cross_attention", "feed_forward"
  Section component, norm, output_norm, residual_norm, entry;
};

struct Block {
  BlockKeys keys;
  std::vector<SublayerDraft> sublayers;
  const spec::Node* node = nullptr;
  std::string path;
  bool readable = false;  // every component was read, so its sublayers can be placed
  bool used = false;
};

using Blocks = std::map<std::string, Block>;

/// Reads `blocks` of `owner` and writes their resolved form.
Blocks read_blocks(Reader& reader, const Section& owner, spec::Node& resolved);

}  // namespace headwright::bind
