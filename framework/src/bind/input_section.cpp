// Reads `run` and `input`, and checks the input's shapes against what the model takes.
#include "bind/input_section.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "bind/model_section.h"
#include "bind/nested.h"
#include "bind/rows.h"
#include "bind/tables.h"
#include "bind/walk.h"
#include "headwright/attend.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

/// Which of the keys that give the tensor are there: exactly one must be.
const spec::Entry* source_of(Reader& reader, const Node& node, const std::string& path,
                             const std::vector<std::string>& sources, bool whole) {
  const spec::Entry* given = nullptr;
  for (const auto& entry : node.entries) {
    const bool source = std::ranges::find(sources, entry.key) != sources.end();
    if (!source || spec::is_null(entry.value)) continue;
    if (given != nullptr) {
      reader.report(entry.key_mark, below(path, entry.key), "stands beside '" + given->key + "', expected one of them");
    }
    given = &entry;
  }
  // Beside an unknown key, which is probably the source misspelt, nothing more can be said
  if (given == nullptr && whole) reader.report(node.mark, path, "expected one of " + support::join(sources, ", "));
  return given;
}

TensorSource read_source(Reader& reader, const Node& node, const std::string& path, const Table& table,
                         const std::vector<std::string>& sources, Node& resolved) {
  TensorSource source{.mark = node.mark};
  const bool whole = read_rows(reader, rows_of(table), node, path, resolved).whole;
  drop_absent(resolved);
  const auto* entry = source_of(reader, node, path, sources, whole);
  const Node* tensor = node.find("tensor");
  if (tensor != nullptr && spec::is_null(*tensor)) tensor = nullptr;
  if (tensor != nullptr && (entry == nullptr || entry->key != "file")) {
    reader.report(tensor->mark, below(path, "tensor"), "has a meaning only beside 'file'");
  }
  if (entry == nullptr) return source;
  source.mark = entry->value.mark;
  const auto inner = below(path, entry->key);
  if (entry->key == "file") {
    source.from = TensorSource::From::file;
    source.file = entry->value.text;
    source.tensor = tensor == nullptr ? "" : tensor->text;
  } else if (entry->key == "random") {
    if (!expect_map(reader, entry->value, inner, "a map with shape and seed")) return source;
    Node section = map_node(entry->value.mark);
    const auto problems = reader.problems.size();
    const auto keys = read_section<RandomKeys>(reader, random_table(), entry->value, inner, section);
    if (reader.problems.size() != problems) return source;
    source.from = TensorSource::From::random;
    source.shape = keys.shape;
    source.seed = keys.seed;
    set(resolved, "random", std::move(section));
    return source;
  } else if (auto nested = read_nested(reader, entry->value, inner,
                                       entry->key == "tokens" ? Element::integer : Element::number)) {
    source.from = TensorSource::From::values;
    source.integers = entry->key == "tokens";
    source.values = std::move(nested->values);
    source.shape = std::move(nested->shape);
  }
  set(resolved, entry->key, entry->value);
  return source;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const auto size : shape) sizes.push_back(std::to_string(size));
  return "(" + support::join(sizes, ", ") + ")";
}

/// What a tensor of the input must be, and who says so.
struct Expected : Wanted {
  std::int64_t longest = 0;                            // 0 = without a limit
  std::string limit;                                   // the key that limits the length
  std::string who = "the model", lacks = "embedding";  // of a section that takes features: why

  bool tokens() const { return takes == Takes::tokens; }

  /// Of the shape, after (batch, seq): one feature vector; or after (batch): one image.
  std::size_t rank() const { return takes == Takes::images ? 4 : tokens() ? 2 : 3; }
  std::string text() const {
    if (tokens()) return "(batch, seq) of token ids";
    const bool images = takes == Takes::images;
    std::string text = images ? "(batch" : "(batch, seq";
    for (const auto size : item_shape) text += ", " + std::to_string(size);
    return text + (images ? ") of images (batch, channels, height, width)" : ") of features");
  }
  bool fits(const std::vector<std::int64_t>& shape) const {
    if (shape.size() != rank()) return false;
    return std::ranges::equal(item_shape, std::span(shape).last(item_shape.size()));
  }
};

void check_shape(Reader& reader, const TensorSource& source, const std::string& path, const Expected& expected) {
  if (source.from == TensorSource::From::nothing || source.from == TensorSource::From::file) return;
  if (!expected.fits(source.shape)) {
    reader.report(source.mark, path, "got shape " + shape_text(source.shape) + ", expected " + expected.text());
  } else if (expected.longest > 0 && expected.takes != Takes::images && source.shape[1] > expected.longest) {
    reader.report(source.mark, path,
                  "got " + std::to_string(source.shape[1]) + " tokens, but " + expected.limit + " is " +
                      std::to_string(expected.longest));
  }
}

void check_tokens(Reader& reader, const Node& tokens, std::int64_t vocab_size, const std::string& path) {
  for (std::size_t i = 0; i < tokens.items.size(); ++i) {
    const auto& item = tokens.items[i];
    const auto place = below(path, std::to_string(i));
    if (item.type == Node::Type::list) {
      check_tokens(reader, item, vocab_size, place);
    } else if (const auto id = spec::as_integer(item); id.value && (*id.value < 0 || *id.value >= vocab_size)) {
      reader.report(item.mark, place,
                    "got token id " + item.text + ", expected 0 to " + std::to_string(vocab_size - 1));
    }
  }
}

/// "(2, 3)", or the names of the axes where the input's shape is not known yet.
std::string expected_text(const std::vector<std::int64_t>& expected, bool known, std::size_t rank) {
  if (known) return shape_text(expected);
  return rank == 1 ? "(batch)" : "(batch, seq)";
}

/// `lengths` or `key_mask` of an input whose shape is (batch, seq, ...), as far as it is known.
TensorSource read_mask_source(Reader& reader, const Node& node, const std::string& path, const TensorSource& of,
                              bool honoured, Node& resolved) {
  TensorSource mask;
  const Node* lengths = node.find("lengths");
  const Node* key_mask = node.find("key_mask");
  const auto& key = lengths != nullptr ? "lengths" : "key_mask";
  const Node* given = lengths != nullptr ? lengths : key_mask;
  if (given == nullptr) return mask;
  const auto place = below(path, key);
  if (lengths != nullptr && key_mask != nullptr) {
    reader.report(key_mask->mark, below(path, "key_mask"), "stands beside 'lengths', expected one of them");
  }
  if (!honoured) reader.report(given->mark, place, "has no effect: the model's attention does not take a key mask");
  auto nested = read_nested(reader, *given, place, lengths != nullptr ? Element::integer : Element::boolean);
  if (!nested) return mask;
  const std::size_t rank = lengths != nullptr ? 1 : 2;
  const bool known = of.shape.size() >= 2;
  const std::vector<std::int64_t> expected(of.shape.begin(), of.shape.begin() + (known ? static_cast<long>(rank) : 0));
  if (nested->shape.size() != rank || (known && nested->shape != expected)) {
    reader.report(given->mark, place,
                  "got shape " + shape_text(nested->shape) + ", expected " + expected_text(expected, known, rank));
  }
  for (const auto length : nested->values) {
    if (lengths != nullptr && (length < 0 || (known && length > static_cast<double>(of.shape[1])))) {
      reader.report(given->mark, place,
                    "got a length of " + support::number_text(length) + ", expected 0 to " +
                        (known ? std::to_string(of.shape[1]) : "the length of the input"));
    }
  }
  mask.from = TensorSource::From::values;
  mask.integers = lengths != nullptr;
  mask.values = std::move(nested->values);
  mask.shape = std::move(nested->shape);
  mask.mark = given->mark;
  set(resolved, key, *given);
  return mask;
}

/// Features where token ids are wanted, or the reverse; else the shape, and each id.
void check_source(Reader& reader, const Node& node, const TensorSource& source, const std::string& path,
                  const Expected& expected) {
  const bool tokens = expected.tokens();
  if (source.from == TensorSource::From::values && source.integers != tokens) {
    reader.report(
        source.mark, below(path, tokens ? "values" : "tokens"),
        tokens ? "got features, but " + expected.who + " has an embedding and takes token ids; write tokens: [[...]]"
               : "got token ids, but " + expected.who + " has no " + expected.lacks + " of token ids and takes " +
                     expected.text());
    return;
  }
  check_shape(reader, source, path, expected);
  if (const Node* ids = node.find("tokens"); ids != nullptr && tokens && expected.vocab_size > 0) {
    check_tokens(reader, *ids, expected.vocab_size, below(path, "tokens"));
  }
}

void read_memory(Reader& reader, const Node& node, const ModelPlan& model, Node& resolved, InputPlan& input) {
  const Node* memory = node.find("memory");
  const std::string path = "input.memory";
  if (memory == nullptr) {
    if (model.takes_memory()) {
      reader.report(node.mark, path,
                    model.encoder ? "missing: the model has an encoder, which reads a memory"
                                  : "missing: the model has cross-attention, which reads a memory");
    }
    return;
  }
  if (!model.takes_memory() && !model.blocks.empty()) {
    reader.report(memory->mark, path, "has no effect: no layer of the model reads a memory");
  }
  if (!expect_map(reader, *memory, path, "a map with one of tokens, values, file, random")) return;
  Node section = map_node(memory->mark);
  input.memory = read_source(reader, *memory, path, memory_table(), {"tokens", "values", "file", "random"}, section);
  check_source(reader, *memory, input.memory, path,
               {wanted_memory(model), model.longest_memory(), "model.encoder.context_length",
                model.encoder ? "the encoder" : "the model", model.encoder ? "embedding" : "encoder"});
  input.memory_mask = read_mask_source(reader, *memory, path, input.memory,
                                       model.takes_memory_mask() || !model.takes_memory(), section);
  set(resolved, "memory", std::move(section));
}

/// From here on two ids could become one number.
constexpr double kTooLargeId = 9007199254740992;  // 2^53

/// One integer for each token: document_ids, positions, token_types. needless: why it has no effect; empty = it has.
TensorSource read_ids(Reader& reader, const Node& node, const std::string& key, const std::string& needless,
                      const TensorSource& of, Node& resolved) {
  const Node* given = node.find(key);
  const auto path = below("input", key);
  TensorSource source;
  if (given == nullptr || spec::is_null(*given)) return source;
  if (!needless.empty()) reader.report(given->mark, path, "has no effect: " + needless);
  if (given->type == Node::Type::map) {
    Node section = map_node(given->mark);
    source = read_source(reader, *given, path, ids_table(), {"file"}, section);
    set(resolved, key, std::move(section));
    return source;
  }
  auto nested = read_nested(reader, *given, path, Element::integer);
  if (!nested) return source;
  const bool known = of.shape.size() >= 2;
  const std::vector<std::int64_t> expected(of.shape.begin(), of.shape.begin() + (known ? 2 : 0));
  if (nested->shape.size() != 2 || (known && nested->shape != expected)) {
    reader.report(
        given->mark, path,
        "got shape " + shape_text(nested->shape) + ", expected " + (known ? shape_text(expected) : "(batch, seq)"));
  }
  if (std::ranges::any_of(nested->values, [](double id) { return std::abs(id) >= kTooLargeId; })) {
    reader.report(given->mark, path, "got an id of 2^53 or more, expected smaller ones");
  }
  if (key != "document_ids" && std::ranges::any_of(nested->values, [](double id) { return id < 0; })) {
    reader.report(given->mark, path, "got a negative number, expected 0 or more");
  }
  source = {.from = TensorSource::From::values, .values = std::move(nested->values), .shape = std::move(nested->shape)};
  source.integers = true;
  source.mark = given->mark;
  set(resolved, key, *given);
  return source;
}

/// Why document ids have no effect; empty = they have.
std::string why_no_documents(const ModelPlan& model) {
  if (model.blocks.empty() || model.takes_document_ids()) return "";
  auto places = walk_attentions(model);
  std::erase_if(places, [](const Place& place) { return place.in_encoder || place.claims->memory; });
  const auto reads = [](const Place& place) { return place.claims->document_ids; };
  const auto leak = std::ranges::find_if_not(places, reads);
  if (leak != places.end() && std::ranges::any_of(places, reads)) return leak->path + ": " + leak_text(*leak);
  return "no layer of the model reads document ids";
}

void read_per_token(Reader& reader, const Node& node, const ModelPlan& model, Node& resolved, InputPlan& input) {
  const bool unknown = model.blocks.empty();
  const auto read = [&](const char* key, const std::string& needless) {
    return read_ids(reader, node, key, needless, input.x, resolved);
  };
  input.document_ids = read("document_ids", why_no_documents(model));
  input.positions = read(
      "positions", unknown || model.takes_positions() ? "" : "neither the embedding nor a layer follows positions");
  input.token_types =
      read("token_types", unknown || model.takes_token_types() ? "" : "the model's embedding has no n_token_types");
}

/// Learned latents stand in the place of an input.
void refuse_x(Reader& reader, const Node& node, const ModelPlan& model) {
  for (const auto* key : {"tokens", "values", "file", "random"}) {
    const Node* given = node.find(key);
    if (given == nullptr || spec::is_null(*given)) continue;
    reader.report(
        given->mark, below("input", key),
        "has no effect: '" + model.embedding.component.variant->name + "' takes no input; write it under memory");
  }
}

void check_device(Reader& reader, const std::string& device, const Node& node) {
  const bool indexed = device.starts_with("cuda:") && device.size() > 5 && device.size() < 9 &&
                       std::ranges::all_of(device.substr(5), [](char c) { return c >= '0' && c <= '9'; });
  const std::vector<std::string> known{"auto", "cpu", "cuda", "mps"};
  if (indexed || std::ranges::find(known, device) != known.end()) return;
  reader.report(node.mark, "run.device",
                "got '" + support::printable(device) + "', expected auto, cpu, cuda, cuda:N or mps",
                device == "gpu" ? "cuda" : support::nearest(device, known).value_or(""));
}

}  // namespace

RunPlan read_run(Reader& reader, const Node* node, Node& resolved) {
  const Node nothing = map_node(default_mark());
  if (node != nullptr && !spec::is_null(*node) && !expect_map(reader, *node, "run", "a map")) return {};
  const Node& section = node == nullptr || spec::is_null(*node) ? nothing : *node;
  const auto keys = read_section<RunKeys>(reader, run_table(), section, "run", resolved);
  if (const Node* device = section.find("device")) check_device(reader, keys.device, *device);
  auto kernels = kernel_names();
  kernels.insert(kernels.begin(), "auto");
  if (std::ranges::find(kernels, keys.kernel) == kernels.end()) {
    reader.report(
        section.find("kernel")->mark, "run.kernel",
        "no kernel is called '" + support::printable(keys.kernel) + "' (known: " + support::join(kernels, ", ") + ")",
        support::nearest(keys.kernel, kernels).value_or(""));
  }
  return {keys.device, keys.dtype, keys.kernel, keys.seed, keys.threads, mark_of(section, "kernel")};
}

InputPlan read_input(Reader& reader, const Node* node, const ModelPlan& model, Node& resolved) {
  InputPlan input;
  if (node == nullptr || spec::is_null(*node)) return input;
  if (!expect_map(reader, *node, "input", "a map with one of tokens, values, file, random")) return input;
  if (model.takes_x()) {
    input.x = read_source(reader, *node, "input", input_table(), {"tokens", "values", "file", "random"}, resolved);
    check_source(reader, *node, input.x, "input",
                 {wanted_input(model), model.dims.context_length, "model.context_length"});
  } else {
    refuse_x(reader, *node, model);
  }
  input.key_mask =
      read_mask_source(reader, *node, "input", input.x, model.takes_key_mask() || model.blocks.empty(), resolved);
  read_per_token(reader, *node, model, resolved, input);
  read_memory(reader, *node, model, resolved, input);
  return input;
}

}  // namespace headwright::bind
