// Bands along the diagonal: causal, a window, or any number of keys before and after a query.
#include <ATen/ATen.h>

#include "core/masks/mask_node.h"

namespace headwright {
namespace {

using Bound = std::optional<std::int64_t>;

/// distance = query - key, so that a later key has a negative one.
class Band final : public MaskNode {
 public:
  Band(Bound left, Bound right, MaskForm form) : left_(left), right_(right), form_(std::move(form)) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    const auto distance = inputs.q_positions - inputs.k_positions;  // (q_len, k_len)
    at::Tensor seen;
    if (right_) seen = distance >= -*right_;
    if (!left_) return seen;
    const auto near = distance <= *left_;
    return seen.defined() ? seen.logical_and(near) : near;
  }
  MaskForm form() const override { return form_; }

  Tile tile(const TileRange& range) const override {
    const auto nearest = range.q_begin - (range.k_end - 1), farthest = range.q_end - 1 - range.k_begin;
    if ((left_ && nearest > *left_) || (right_ && farthest < -*right_)) return Tile::empty;
    const bool full = (!left_ || farthest <= *left_) && (!right_ || nearest >= -*right_);
    return full ? Tile::full : Tile::partial;
  }
  bool hides_future() const override { return right_ && *right_ <= 0; }
  bool is_causal() const override { return !left_ && right_ && *right_ == 0; }
  bool is_sparse() const override { return left_ && right_; }
  std::optional<std::int64_t> look_back() const override { return left_.value_or(kWithoutBound); }

 private:
  const Bound left_, right_;  // at least one is bounded
  const MaskForm form_;
};

struct WindowParams {
  std::int64_t size = 1;
  static constexpr auto fields() {
    return std::tuple{field("size", &WindowParams::size, "keys visible to a query, itself included; 1 = itself only",
                            at_least(1) | required())};
  }
};

struct BandParams {
  std::optional<std::int64_t> left, right;
  static constexpr auto fields() {
    return std::tuple{
        field("left", &BandParams::left, "visible keys before a query, itself not counted; absent = all", at_least(0)),
        field("right", &BandParams::right, "visible keys after a query; absent = all", at_least(0)),
    };
  }
};

Value bound_value(Bound bound) { return bound ? Value{*bound} : Value{}; }

}  // namespace

Mask Mask::causal() { return Mask(std::make_shared<Band>(std::nullopt, 0, MaskForm{.kind = "causal"})); }

Mask Mask::window(std::int64_t size) {
  core::expect_at_least_one("window", "size", size);
  return Mask(std::make_shared<Band>(size - 1, 0, MaskForm{"window", {{"size", {size}}}}));
}

Mask Mask::band(std::optional<std::int64_t> left, std::optional<std::int64_t> right) {
  for (const auto bound : {left, right}) {
    if (bound && *bound < 0) throw Error("[mask] band: got " + std::to_string(*bound) + ", expected at least 0");
  }
  if (!left && !right) return {};
  const MaskForm form{"band", {{"left", bound_value(left)}, {"right", bound_value(right)}}};
  return Mask(std::make_shared<Band>(left, right, form));
}

MaskKind core::causal_kind() {
  return {"causal", "a query sees itself and what came before", specs_of<NoParams>(),
          [](const ParamMap&) { return Mask::causal(); }};
}

MaskKind core::window_kind() {
  return {"window", "a query sees the last `size` keys, itself included, and nothing later", specs_of<WindowParams>(),
          [](const ParamMap& values) { return Mask::window(params_from<WindowParams>(values).size); }};
}

MaskKind core::band_kind() {
  return {"band", "a query sees itself, `left` keys before it and `right` keys after it", specs_of<BandParams>(),
          [](const ParamMap& values) {
            const auto params = params_from<BandParams>(values);
            return Mask::band(params.left, params.right);
          }};
}

}  // namespace headwright
