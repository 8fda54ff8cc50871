// Every n-th key: dilated windows and the strided half of the Sparse Transformer.
// Source: dilated, Beltagy et al. 2020, arXiv:2004.05150, section 3.1; strided, Child et al. 2019, arXiv:1904.10509,
// section 4.3.
#include <ATen/ATen.h>

#include "core/masks/mask_node.h"

namespace headwright {
namespace {

class Strided final : public MaskNode {
 public:
  explicit Strided(std::int64_t stride) : stride_(stride) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    return (inputs.q_positions - inputs.k_positions).remainder(stride_).eq(0);
  }
  MaskForm form() const override { return {"strided", {{"stride", {stride_}}}}; }
  std::optional<std::int64_t> look_back() const override { return kWithoutBound; }

  Tile tile(const TileRange& range) const override {
    if (stride_ == 1) return Tile::full;
    // Some multiple of the stride lies among the distances of the range, unless there are fewer than `stride` of them.
    const auto nearest = range.q_begin - (range.k_end - 1), farthest = range.q_end - 1 - range.k_begin;
    if (farthest - nearest + 1 >= stride_) return Tile::partial;
    const auto rest = nearest % stride_, first = rest < 0 ? rest + stride_ : rest;  // of the nearest distance
    return first != 0 && farthest - nearest < stride_ - first ? Tile::empty : Tile::partial;
  }

 private:
  const std::int64_t stride_;
};

/// Every n-th key of a window; knows the numbers that it was made of.
class Dilated final : public MaskNode {
 public:
  Dilated(std::int64_t size, std::int64_t dilation, Mask both)
      : size_(size), dilation_(dilation), both_(std::move(both)) {}

  at::Tensor visible(const MaskInputs& inputs) const override { return both_.visible(inputs); }
  MaskForm form() const override { return {"dilated", {{"size", {size_}}, {"dilation", {dilation_}}}}; }
  Tile tile(const TileRange& range) const override { return both_.tile(range); }
  bool hides_future() const override { return both_.hides_future(); }
  bool is_sparse() const override { return both_.is_sparse(); }

 private:
  const std::int64_t size_, dilation_;
  const Mask both_;  // a band and a stride
};

struct StridedParams {
  std::int64_t stride = 1;
  static constexpr auto fields() {
    return std::tuple{field("stride", &StridedParams::stride,
                            "a query sees the keys at distances 0, stride, 2 stride, ...; 1 = every key",
                            at_least(1) | required())};
  }
};

struct DilatedParams {
  std::int64_t size = 1, dilation = 1;
  static constexpr auto fields() {
    return std::tuple{
        field("size", &DilatedParams::size, "keys visible to a query, itself included", at_least(1) | required()),
        field("dilation", &DilatedParams::dilation, "positions from one of them to the next; 1 = a plain window",
              at_least(1) | required()),
    };
  }
};

}  // namespace

Mask Mask::strided(std::int64_t stride) {
  core::expect_at_least_one("strided", "stride", stride);
  return Mask(std::make_shared<Strided>(stride));
}

Mask Mask::dilated(std::int64_t size, std::int64_t dilation) {
  core::expect_at_least_one("dilated", "size", size);
  core::expect_at_least_one("dilated", "dilation", dilation);
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(size - 1, dilation, &reach)) {
    throw Error("[mask] dilated: got size = " + std::to_string(size) + " and dilation = " + std::to_string(dilation) +
                ", expected a product within 64 bits");
  }
  return Mask(std::make_shared<Dilated>(size, dilation, all({band(reach, 0), strided(dilation)})));
}

MaskKind core::strided_kind() {
  return {"strided", "a query sees every `stride`-th key, counted from itself, before and after it",
          specs_of<StridedParams>(),
          [](const ParamMap& values) { return Mask::strided(params_from<StridedParams>(values).stride); }};
}

MaskKind core::dilated_kind() {
  return {"dilated", "a query sees `size` keys, `dilation` apart, itself the last", specs_of<DilatedParams>(),
          [](const ParamMap& values) {
            const auto params = params_from<DilatedParams>(values);
            return Mask::dilated(params.size, params.dilation);
          }};
}

}  // namespace headwright
