#include "bench/sizes.h"

#include <ATen/core/Tensor.h>

#include <charconv>
#include <optional>

#include "bind/resolve.h"
#include "headwright/errors.h"
#include "run/forward.h"
#include "spec/load.h"
#include "support/text.h"

namespace headwright::bench {
namespace {

using From = bind::TensorSource::From;

std::optional<std::int64_t> size_at(const BenchPoint& point, std::string_view axis) {
  for (const auto& [name, value] : point) {
    if (name == axis) return size_from(value, "--vary " + name + ": ");
  }
  return {};
}

/// (batch, seq) of the config's own input; a file has to be read for them.
std::pair<std::int64_t, std::int64_t> own_sizes(const bind::Plan& plan, bool seq_is_given) {
  const auto& source = plan.input.x;
  if (source.from == From::nothing && seq_is_given) return {1, 0};
  if (source.from == From::random && source.shape.size() >= 2) return {source.shape[0], source.shape[1]};
  const auto x = run::make_inputs(plan).x;
  return {x.size(0), x.size(1)};
}

bind::TensorSource random_like(const bind::TensorSource& given) {
  return {.from = From::random, .shape = given.shape, .mark = given.mark};
}

/// Documents as long in proportion; further rows are those that are there again.
bind::TensorSource stretched(bind::TensorSource ids, std::int64_t batch, std::int64_t seq) {
  const auto rows = ids.shape[0], columns = ids.shape[1];
  std::vector<double> values;
  for (std::int64_t i = 0; i < batch; ++i) {
    for (std::int64_t j = 0; j < seq; ++j) {
      values.push_back(ids.values[static_cast<std::size_t>(i % rows * columns + j * columns / seq)]);
    }
  }
  ids.values = std::move(values);
  ids.shape = {batch, seq};
  return ids;
}

/// A memory and document ids are made to fit the sizes, and have no place without the rest.
void drop_input(spec::Node& root) {
  const auto* input = root.find("input");
  if (input == nullptr || input->find("memory") != nullptr || input->find("document_ids") != nullptr) return;
  std::erase_if(root.entries, [](const spec::Entry& entry) { return entry.key == "input"; });
}

}  // namespace

bool is_size(const std::string& axis) { return axis == "seq_len" || axis == "batch_size"; }

std::int64_t size_from(const std::string& text, const std::string& where) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error == std::errc{} && end == text.data() + text.size() && size >= 1) return size;
  throw InputError(where + "got '" + support::printable(text) + "', expected a whole number of at least 1");
}

void take_sizes(bind::Plan& plan, const BenchPoint& point) {
  const auto seq_len = size_at(point, "seq_len"), batch_size = size_at(point, "batch_size");
  if (!seq_len && !batch_size) return;
  auto& input = plan.input;
  std::vector<std::int64_t> shape{batch_size.value_or(0), seq_len.value_or(0)};
  if (!seq_len || !batch_size) {
    const auto [batch, seq] = own_sizes(plan, seq_len.has_value());
    shape = {batch_size.value_or(batch), seq_len.value_or(seq)};
  }
  if (batch_size && input.memory.from == From::values) input.memory = random_like(input.memory);
  if (batch_size && input.memory.from == From::random) input.memory.shape[0] = shape[0];
  if (input.document_ids.from == From::values) input.document_ids = stretched(input.document_ids, shape[0], shape[1]);
  const auto wanted = bind::wanted_input(plan.model);
  if (wanted.takes == Takes::images || wanted.takes == Takes::nothing) {
    throw InputError(
        "--vary: the lengths of images and learned latents are the model's own; vary a value of the config");
  }
  shape.insert(shape.end(), wanted.item_shape.begin(), wanted.item_shape.end());
  const auto seed = input.x.from == From::random ? input.x.seed : 0;
  input.x = {.from = From::random, .shape = shape, .seed = seed, .mark = {.file = "--vary", .line = 1, .column = 1}};
  input.key_mask = input.positions = input.token_types = {};  // of the rows that were there
  if (batch_size) input.memory_mask = {};
}

std::vector<std::string> overrides_of(const BenchPoint& point) {
  std::vector<std::string> overrides;
  for (const auto& [name, value] : point) {
    if (!is_size(name)) overrides.push_back(name + "=" + value);
  }
  return overrides;
}

run::Session open_at(run::Request request, const BenchPoint& point) {
  for (auto& assignment : overrides_of(point)) request.overrides.push_back(std::move(assignment));
  if (!size_at(point, "seq_len") || !size_at(point, "batch_size")) return run::open(request);
  auto root = spec::load(request.config);
  for (const auto& assignment : request.overrides) spec::apply_override(root, assignment);
  drop_input(root);
  run::Session session{run::open_registry(request.plugin_path, bind::plugin_paths(root)), {}};
  session.plan = bind::resolve(root, *session.registry);
  return session;
}

}  // namespace headwright::bench
