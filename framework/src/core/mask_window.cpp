// A query sees the last `size` keys, itself included.
#include <ATen/ATen.h>

#include "core/mask_node.h"

namespace headwright {
namespace {

class Window final : public MaskNode {
 public:
  explicit Window(std::int64_t size) : size_(size) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    const auto distance = inputs.q_positions - inputs.k_positions;  // (q_len, k_len), negative = a later key
    return (distance >= 0).logical_and_(distance < size_);
  }
  std::string to_string() const override { return "window(" + std::to_string(size_) + ")"; }
  bool hides_future() const override { return true; }

 private:
  const std::int64_t size_;
};

struct Params {
  std::int64_t size = 1;
  static constexpr auto fields() {
    return std::tuple{field("size", &Params::size, "keys visible to a query, itself included; 1 = itself only",
                            at_least(1) | required())};
  }
};

}  // namespace

Mask Mask::window(std::int64_t size) {
  if (size < 1) throw Error("[mask] window: got size = " + std::to_string(size) + ", expected at least 1");
  return Mask(std::make_shared<Window>(size));
}

MaskKind core::window_kind() {
  return {"window", "a query sees the last `size` keys, itself included, and nothing later", specs_of<Params>(),
          [](const ParamMap& values) { return Mask::window(params_from<Params>(values).size); }};
}

}  // namespace headwright
