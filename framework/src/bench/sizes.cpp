// Sets a config to each point of a benchmark, and draws the input there.
#include "bench/sizes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "headwright/errors.h"
#include "run/forward.h"
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

/// As the config gives it, which need not fit the model; a file has to be read for it. Empty = nothing is given.
std::vector<std::int64_t> shape_of(const bind::TensorSource& source) {
  return source.from == From::file ? run::tensor_from_file(source).sizes().vec() : source.shape;
}

/// (batch, seq) of the config's own input.
std::pair<std::int64_t, std::int64_t> own_sizes(const bind::Plan& plan, bool seq_is_given) {
  const auto& source = plan.input.x;
  if (source.from == From::nothing && seq_is_given) return {1, 0};
  if (const auto shape = shape_of(source); shape.size() >= 2) return {shape[0], shape[1]};
  const auto x = run::make_inputs(plan).x;  // says what is wrong with it
  return {x.size(0), x.size(1)};
}

/// width: of features; 0 = token ids.
bind::TensorSource random_tensor(std::int64_t batch, std::int64_t seq, std::int64_t width, const spec::Mark& mark) {
  std::vector<std::int64_t> shape{batch, seq};
  if (width > 0) shape.push_back(width);
  return {.from = From::random, .shape = std::move(shape), .mark = mark};
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

/// Ids of a file as if they stood in the config.
bind::TensorSource as_values(bind::TensorSource ids) {
  if (ids.from != From::file) return ids;
  const auto tensor = run::tensor_from_file(ids);
  if (!at::isIntegralType(tensor.scalar_type(), false)) return ids;
  const auto flat = tensor.to(at::kDouble).contiguous();
  const auto* first = flat.const_data_ptr<double>();
  return {.from = From::values,
          .values = {first, first + flat.numel()},
          .shape = tensor.sizes().vec(),
          .integers = true,
          .mark = ids.mark};
}

/// Of the sizes (batch, seq); what is no table of ids is left to the check that follows.
void take_documents(bind::TensorSource& ids, std::int64_t batch, std::int64_t seq) {
  if (ids.from == From::nothing) return;
  auto given = as_values(ids);
  if (given.from == From::values && given.shape.size() == 2 && !given.values.empty())
    ids = stretched(std::move(given), batch, seq);
}

/// A random memory where the number of rows changes.
void take_batch(bind::TensorSource& memory, std::int64_t batch) {
  auto shape = shape_of(memory);
  if (shape.empty() || shape[0] == batch) return;
  shape[0] = batch;
  memory = {.from = From::random, .shape = std::move(shape), .seed = memory.seed, .mark = memory.mark};
}

/// True where the input that is there does not fit; what is misspelt in it stays an error.
bool is_a_misfit(const ConfigError& error) {
  return std::ranges::all_of(error.problems(), [](const Problem& problem) {
    const bool of_input = problem.path == "input" || problem.path.starts_with("input.");
    return of_input && !problem.message.starts_with("unknown");
  });
}

/// Files are not read before the model is known. width: of features; 0 = token ids.
bool fits(const bind::TensorSource& source, std::int64_t width) {
  if (source.from != From::file) return true;
  const auto shape = shape_of(source);
  return width == 0 ? shape.size() == 2 : shape.size() == 3 && shape[2] == width;
}

/// 0 = token ids.
std::int64_t width_of(const bind::Wanted& wanted) {
  return wanted.takes == Takes::tokens || wanted.item_shape.empty() ? 0 : wanted.item_shape.front();
}

/// Random tensors of the same lengths in place of an input that does not fit the model. Its masks go with it.
bind::InputPlan fitting(const bind::InputPlan& own, const bind::ModelPlan& model) {
  bind::InputPlan input;
  const auto x = shape_of(own.x), memory = shape_of(own.memory);
  if (x.size() < 2) return input;
  input.x = random_tensor(x[0], x[1], width_of(bind::wanted_input(model)), own.x.mark);
  if (memory.size() >= 2)
    input.memory = random_tensor(x[0], memory[1], width_of(bind::wanted_memory(model)), own.memory.mark);
  input.document_ids = own.document_ids;
  take_documents(input.document_ids, x[0], x[1]);
  return input;
}

/// A config whose own input does not fit: read without it, then with one that does.
run::Session open_with_fitting_input(const bind::Config& config, const run::Request& request) {
  auto session = run::open(config.without_input(), request.plugin_path);
  std::vector<Problem> problems;
  const auto own = config.input_for(session.plan.model, *session.registry, problems);
  session.plan.input = fitting(own, session.plan.model);
  if (session.plan.input.x.from == From::nothing) throw ConfigError(std::move(problems));
  return session;
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
  if (batch_size) take_batch(input.memory, shape[0]);
  take_documents(input.document_ids, shape[0], shape[1]);
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
  const auto config = run::load(request);
  try {
    auto session = run::open(config, request.plugin_path);
    auto& plan = session.plan;
    const bool replaced = size_at(point, "seq_len") || size_at(point, "batch_size");
    const bool x_fits = point.empty() || replaced || fits(plan.input.x, width_of(bind::wanted_input(plan.model)));
    const bool memory_fits = point.empty() || fits(plan.input.memory, width_of(bind::wanted_memory(plan.model)));
    if (!x_fits || !memory_fits) plan.input = fitting(plan.input, plan.model);
    return session;
  } catch (const ConfigError& error) {
    if (point.empty() || !config.has_input() || !is_a_misfit(error)) throw;
  }
  return open_with_fitting_input(config, request);
}

}  // namespace headwright::bench
