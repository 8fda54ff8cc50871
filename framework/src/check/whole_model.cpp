// Compares pieces that go on from a cache with the whole sequence, for everything that a model may be given.
#include "check/whole_model.h"

#include <ATen/ATen.h>

#include <numeric>
#include <utility>
#include <vector>

#include "check/subject.h"
#include "exporter/samples.h"
#include "model/build.h"

namespace headwright::check {
namespace {

constexpr double kFloat64Noise = 1e-9;

using Pieces = std::vector<std::int64_t>;

/// Where the tokens of a piece stand among all of x; masks and ids are of all tokens so far.
Inputs piece_of(const Inputs& all, std::int64_t begin, std::int64_t end) {
  auto piece = all;
  for (auto* of_x : {&piece.x, &piece.positions, &piece.token_types}) {
    if (of_x->defined()) *of_x = of_x->slice(1, begin, end);
  }
  for (auto* so_far : {&piece.key_mask, &piece.document_ids}) {
    if (so_far->defined()) *so_far = so_far->slice(1, 0, end);
  }
  return piece;
}

Inputs rows_of(const Inputs& all, const at::Tensor& rows) {
  auto chosen = all;
  for (auto* tensor : {&chosen.x, &chosen.memory, &chosen.key_mask, &chosen.memory_mask, &chosen.document_ids,
                       &chosen.positions, &chosen.token_types}) {
    if (tensor->defined()) *tensor = tensor->index_select(0, rows);
  }
  return chosen;
}

/// How far the pieces are from the whole, among visible tokens. Before the last piece the rows change places.
double distance(model::Model& model, const Inputs& inputs, const Pieces& pieces) {
  auto given = inputs;
  auto y = model.forward(given);
  auto cache = model.make_cache(inputs.x.size(0), inputs.x.size(1));
  std::int64_t begin = 0;
  double most = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i + 1 == pieces.size()) {
      const auto rows = at::arange(inputs.x.size(0)).flip(0);
      cache.keep_rows(rows);
      given = rows_of(given, rows);
      y = y.index_select(0, rows);
    }
    const auto end = begin + pieces[i];
    auto gap = (model.forward(piece_of(given, begin, end), &cache) - y.slice(1, begin, end)).abs();
    if (given.key_mask.defined()) {
      gap = gap.masked_fill(given.key_mask.slice(1, begin, end).logical_not().unsqueeze(-1), 0);
    }
    if (gap.numel() > 0) most = std::max(most, gap.max().item<double>());
    begin = end;
  }
  return most;
}

/// What the model may be given besides x and its memory, as a phrase, and the inputs.
std::vector<std::pair<std::string, Inputs>> ways(const bind::Plan& plan, std::int64_t length) {
  exporter::Samples samples(plan);
  const auto all = samples.inputs({2, length, 5});
  Inputs plain{.x = all.x, .memory = all.memory};
  std::vector<std::pair<std::string, Inputs>> inputs{{"", plain}};
  if (plan.model.takes_key_mask()) {
    auto& padded = inputs.emplace_back(" with padding on the left", plain).second;
    padded.key_mask = at::ones({2, length}, at::kBool);
    padded.key_mask.select(0, 0).slice(0, 0, length / 3).fill_(false);
  }
  if (plan.model.takes_document_ids()) {
    inputs.emplace_back(" with documents", plain).second.document_ids = all.document_ids;
  }
  if (plan.model.takes_positions()) inputs.emplace_back(" with positions", plain).second.positions = all.positions;
  return inputs;
}

}  // namespace

std::string continues_from_its_cache(const bind::Plan& given) {
  if (!model::claims_cache(given.model)) return "";
  auto plan = given;
  plan.run.dtype = "float64";
  plan.run.device = "cpu";
  const auto model = model::build(plan);
  const at::NoGradGuard no_grad;
  const auto longest = plan.model.dims.context_length;
  const auto length = longest > 0 ? std::min<std::int64_t>(21, longest) : 21;
  for (const auto& [extra, inputs] : ways(plan, length)) {
    for (const auto& pieces :
         {Pieces(static_cast<std::size_t>(length), 1), Pieces{length / 2, 1, length - length / 2 - 1}}) {
      const auto far = distance(*model, inputs, pieces);
      if (far <= kFloat64Noise) continue;
      return "fed " + std::string(pieces.size() == 3 ? "in three pieces" : "token by token") + extra +
             ", the output differs from that of the whole sequence by " + amount(far);
    }
  }
  return "";
}

}  // namespace headwright::check
