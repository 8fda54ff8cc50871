// Gives each sublayer its sizes, asks its variant for claims and issues, and reports sizes that nothing reads.
#include "bind/placing.h"

#include <algorithm>
#include <array>

#include "headwright/attend.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

struct SizeRow {
  const char* name;
  bool Sizes::* member;
};
constexpr std::array kSizes{SizeRow{"n_heads", &Sizes::n_heads}, SizeRow{"n_kv_heads", &Sizes::n_kv_heads},
                            SizeRow{"d_head", &Sizes::d_head}, SizeRow{"d_memory", &Sizes::d_memory}};

std::string in_quotes(const Component& component) { return "'" + component.variant->name + "'"; }

/// The sizes of a block that stands where features of width `width` come in.
Dims dims_for(const Block& block, Dims dims, std::int64_t width) {
  const auto& keys = block.keys;
  dims.d_model = width;
  if (keys.n_heads) {
    dims.n_kv_heads = *keys.n_heads;
    dims.n_heads = *keys.n_heads;
  }
  if (keys.n_kv_heads) dims.n_kv_heads = *keys.n_kv_heads;
  if (keys.d_head) dims.d_head = *keys.d_head;
  if (keys.kernel) dims.kernel = *keys.kernel;
  return dims;
}

/// Each sublayer gets the width that the one before it hands on.
Dims at_width(Dims dims, std::int64_t width) {
  dims.d_model = width;
  if (dims.d_head == 0 && width % dims.n_heads == 0) dims.d_head = width / dims.n_heads;
  return dims;
}

void check_kernel(Reader& reader, const Block& block, const BlockPlan& plan) {
  if (!block.keys.kernel) return;
  const auto place = below(block.path, "kernel");
  const auto& mark = mark_of(*block.node, "kernel");
  auto known = kernel_names();
  known.insert(known.begin(), "auto");
  if (std::ranges::find(known, *block.keys.kernel) == known.end()) {
    reader.report(mark, place,
                  "no kernel is called '" + *block.keys.kernel + "' (known: " + support::join(known, ", ") + ")",
                  support::nearest(*block.keys.kernel, known).value_or(""));
  } else if (std::ranges::none_of(plan.sublayers, [](const auto& it) { return it.claims.core; })) {
    reader.report(mark, place, "has no effect: the block's attention is not computed by the attention core");
  }
}

/// Whether what stands in a slot reads the memory, and whether there is one.
void check_memory(Reader& reader, const SublayerDraft& draft, const SublayerPlan& plan, bool in_encoder) {
  if (!plan.is_attention()) return;
  const auto refuse = [&](const std::string& message) {
    reader.report(draft.component.node->mark, draft.component.path, message);
  };
  const bool cross = draft.slot == "cross_attention";
  if (in_encoder) {
    if (cross) {
      refuse("has no place in an encoder, whose layers have no memory");
    } else if (plan.claims.memory) {
      refuse(in_quotes(plan.component) + " reads a memory here, and an encoder's layers have none");
    }
    if (asks_for_documents(plan.component)) {
      refuse(in_quotes(plan.component) + " reads document ids here, and the memory has none");
    }
    return;
  }
  if (!cross || plan.claims.memory) return;
  const auto& rows = plan.component.variant->params;
  const bool switched = std::ranges::any_of(
      rows, [](const ParamSpec& row) { return row.name == "cross" && row.type == ParamType::boolean; });
  refuse(in_quotes(plan.component) + (switched
                                          ? " reads no memory with cross: false; leave it out, or write cross: true"
                                          : " reads no memory; expected a variant that does, such as softmax"));
}

/// Sizes and claims of one sublayer that reads `width` and, with a residual, has to hand it on.
SublayerPlan placed(Reader& reader, const SublayerDraft& draft, const Dims& block_dims, std::int64_t width,
                    const Sections& sections) {
  auto plan = draft.plan;
  plan.dims = at_width(block_dims, width);
  check_component(reader, plan.component, plan.dims, draft.component, sections);
  plan.claims = plan.component.variant->claims(plan.dims, plan.component.values);
  plan.mark = draft.component.node->mark;
  plan.written_at = draft.component.path;
  plan.d_out = plan.claims.d_out > 0 ? plan.claims.d_out : width;
  if (plan.residual && plan.d_out != width) {
    reader.report(draft.component.node->mark, draft.component.path,
                  "hands on width " + std::to_string(plan.d_out) +
                      ", but a residual needs d_model = " + std::to_string(width) + "; order: plain has no residual");
    plan.d_out = width;
  }
  const auto norm = [&](const Component& component, const Section& at, const Dims& dims) {
    if (component) check_component(reader, component, dims, at, sections);
  };
  norm(plan.norm, draft.norm, plan.dims);
  norm(plan.output_norm, draft.output_norm, plan.dims_after());
  norm(plan.residual_norm, draft.residual_norm, plan.dims_after());
  return plan;
}

/// What comes into the block reaches a later sublayer only with the width that it came in with.
void check_block_input(Reader& reader, const SublayerDraft& draft, std::int64_t width, std::int64_t now) {
  if (draft.plan.input != Reads::block || width == now) return;
  reader.report(
      mark_of(*draft.entry.node, "input"), below(draft.entry.path, "input"),
      "got block, whose input has width " + std::to_string(width) + ", but the width here is " + std::to_string(now));
}

/// Where "position.theta" is written, or as much of it as is.
const spec::Mark& mark_below(const Node& node, const std::string& path) {
  const auto dot = path.find('.');
  const Node* value = node.find(path.substr(0, dot));
  if (value == nullptr) return node.mark;
  return dot == std::string::npos ? value->mark : mark_below(*value, path.substr(dot + 1));
}

}  // namespace

bool asks_for_documents(const Component& component) {
  return std::ranges::any_of(component.values, [](const auto& item) {
    const auto* mask = std::get_if<Mask>(&item.second.data);
    return mask != nullptr && mask->reads_documents();
  });
}

Sizes both(const Sizes& a, const Sizes& b) {
  Sizes sizes;
  for (const auto& row : kSizes) sizes.*row.member = a.*row.member || b.*row.member;
  return sizes;
}

void check_sizes(Reader& reader, const Section& section, const Sizes& reads, const std::string& who) {
  for (const auto& [name, member] : kSizes) {
    const Node* value = section.node->find(name);
    if (value == nullptr || spec::is_null(*value) || reads.*member) continue;
    reader.report(value->mark, below(section.path, name), "has no effect: " + who + "; leave it out");
  }
}

BlockPlan place_block(Reader& reader, const std::string& name, const Block& block, const Dims& stack,
                      std::int64_t width, Sections sections) {
  const bool in_encoder = sections.size() > 1;
  sections.insert(sections.begin(), {block.node, block.path});
  BlockPlan plan{.name = name, .dims = dims_for(block, stack, width), .d_out = width};
  plan.kernel_path = "run.kernel";
  if (block.keys.kernel) {
    plan.kernel_path = below(block.path, "kernel");
    plan.kernel_mark = mark_of(*block.node, "kernel");
  }
  Sizes reads;
  std::vector<std::string> who;
  for (const auto& draft : block.sublayers) {
    check_block_input(reader, draft, width, plan.d_out);
    auto sublayer = placed(reader, draft, plan.dims, plan.d_out, sections);
    check_memory(reader, draft, sublayer, in_encoder);
    reads = both(reads, sublayer.claims.reads);
    if (sublayer.is_attention()) who.push_back(in_quotes(sublayer.component));
    plan.d_out = sublayer.d_out;
    plan.sublayers.push_back(std::move(sublayer));
  }
  check_kernel(reader, block, plan);
  check_sizes(reader, {block.node, block.path}, reads,
              who.empty() ? "the block has no attention"
                          : support::join(who, " and ") + (who.size() == 1 ? " does" : " do") + " not read it");
  return plan;
}

void check_component(Reader& reader, const Component& component, const Dims& dims, const Section& as_written,
                     const Sections& sections) {
  Issues issues;
  component.variant->check(dims, component.values, issues);
  const auto encoder = std::ranges::find(sections, "model.encoder", &Section::path);
  for (const auto& [name, message] : issues.items()) {
    const auto& rows = component.variant->params;
    const bool parameter = std::ranges::find(rows, name.substr(0, name.find('.')), &ParamSpec::name) != rows.end();
    const auto section =
        std::ranges::find_if(sections, [&name = name](const Section& it) { return it.node->find(name) != nullptr; });
    if (parameter) {
      reader.report(mark_below(*as_written.node, name), below(as_written.path, name), message);
    } else if (section != sections.end() && section->path == "model" && encoder != sections.end()) {
      reader.report(encoder->node->mark, below(encoder->path, name), message);  // the encoder's own, though not written
    } else if (section != sections.end()) {
      reader.report(section->node->find(name)->mark, below(section->path, name), message);
    } else {
      const auto known = model_table().keys();
      const bool of_the_model = std::ranges::find(known, name) != known.end();  // and not given: it is missing
      reader.report(as_written.node->mark, of_the_model ? below("model", name) : as_written.path, message);
    }
  }
}

}  // namespace headwright::bind
