// The one header that a plugin includes.
#pragma once
#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headwright/abi.h"
#include "headwright/attention.h"
#include "headwright/embedding.h"
#include "headwright/feed_forward.h"
#include "headwright/head.h"
#include "headwright/norm.h"
#include "headwright/position.h"
#include "headwright/recurrence.h"
#include "headwright/shapes.h"

namespace headwright {

template <class M>
concept OfAKind = std::derived_from<M, Attention> || std::derived_from<M, FeedForward> || std::derived_from<M, Norm> ||
                  std::derived_from<M, Position> || std::derived_from<M, Embedding> || std::derived_from<M, Head>;

/// All but feed-forward layers and norms promise something that depends on the variant, so they must say it.
template <class M>
concept StatesClaims = requires(const Dims& dims, const typename M::Params& params) {
  { M::claims(dims, params) } -> std::same_as<Claims>;
};

/// What HEADWRIGHT_PLUGIN asks of a class. Each line that fails is named by the compiler at the registration.
template <class M>
concept Variant = OfAKind<M> &&                     // derives from one of the kinds
                  !std::is_abstract_v<M> &&         // implements the kind's functions
                  Described<typename M::Params> &&  // Params has defaults and fields()
                  std::constructible_from<M, const Dims&, const typename M::Params&> &&
                  std::convertible_to<decltype(M::kSummary), std::string> &&  // one line
                  std::convertible_to<decltype(M::kSource), std::string> &&   // paper and section
                  (StatesClaims<M> || std::derived_from<M, FeedForward> || std::derived_from<M, Norm>);

template <class M>
constexpr Kind kind_of() {
  if constexpr (std::derived_from<M, Attention>) return Kind::attention;
  if constexpr (std::derived_from<M, FeedForward>) return Kind::feed_forward;
  if constexpr (std::derived_from<M, Norm>) return Kind::norm;
  if constexpr (std::derived_from<M, Embedding>) return Kind::embedding;
  if constexpr (std::derived_from<M, Head>) return Kind::head;
  return Kind::position;
}

/// What a variant computes with where an optional parameter is absent, as far as its sizes and values tell: what its
/// own effective(dims, params) says, if it has one, the scale of scores, the width that it claims.
template <Variant M>
ParamMap effective_of([[maybe_unused]] const Dims& dims, [[maybe_unused]] const typename M::Params& params) {
  ParamMap effective;
  if constexpr (requires { M::effective(dims, params); }) effective = M::effective(dims, params);
  if constexpr (std::derived_from<typename M::Params, ScoreOptions>) {
    const bool is_learned = params.qk_norm == "l2";
    if (!is_learned && find(effective, "scale") == nullptr) {
      effective.emplace_back("scale", Value{1 / std::sqrt(static_cast<double>(d_head_of(dims)))});
    }
  }
  if constexpr (StatesClaims<M>) {
    if (const auto d_out = M::claims(dims, params).d_out; d_out > 0) effective.emplace_back("d_out", Value{d_out});
  }
  return effective;
}

/// The rows, claims and factory of a variant, types erased.
template <Variant M>
VariantSpec spec_of(std::string_view name) {
  using Params = typename M::Params;
  VariantSpec spec{.name = std::string(name), .kind = kind_of<M>(), .summary = M::kSummary, .source = M::kSource};
  spec.params = specs_of<Params>();
  spec.claims = []([[maybe_unused]] const Dims& dims, [[maybe_unused]] const ParamMap& values) {
    Claims claims;
    if constexpr (StatesClaims<M>) claims = M::claims(dims, params_from<Params>(values));
    if constexpr (std::derived_from<M, QkvAttention>) {  // its projections do
      claims.reads.n_heads = claims.reads.n_kv_heads = claims.reads.d_head = true;
    }
    return claims;
  };
  spec.check = []([[maybe_unused]] const Dims& dims, [[maybe_unused]] const ParamMap& values,
                  [[maybe_unused]] Issues& issues) {
    if constexpr (std::derived_from<M, QkvAttention>) QkvAttention::check_heads(dims, issues);
    if constexpr (requires { M::check(dims, params_from<Params>(values), issues); }) {
      M::check(dims, params_from<Params>(values), issues);
    }
  };
  spec.effective = [](const Dims& dims, const ParamMap& values) {
    return effective_of<M>(dims, params_from<Params>(values));
  };
  spec.make = [](const Dims& dims, const ParamMap& values) -> std::shared_ptr<torch::nn::Module> {
    return std::make_shared<M>(dims, params_from<Params>(values));
  };
  return spec;
}

}  // namespace headwright

/// Registers `Type` under `variant_name`; stands once, at the end of a plugin's file. A file with several variants has
/// HEADWRIGHT_PLUGIN_LIST(headwright::spec_of<A>("a"), headwright::spec_of<B>("b")) in its place.
#define HEADWRIGHT_PLUGIN(variant_name, Type) HEADWRIGHT_PLUGIN_LIST(headwright::spec_of<Type>(variant_name))

#define HEADWRIGHT_PLUGIN_LIST(...)                                                                     \
  extern "C" HEADWRIGHT_API const headwright::Greeting* headwright_greeting() {                         \
    static constexpr headwright::Greeting greeting{                                                     \
        headwright::kMagic, sizeof(headwright::Greeting), headwright::kAbiNumber, HEADWRIGHT_TOOLCHAIN, \
        [](std::vector<headwright::VariantSpec>& specs) { specs = {__VA_ARGS__}; }};                    \
    return &greeting;                                                                                   \
  }                                                                                                     \
  static_assert(true, "takes the semicolon")
