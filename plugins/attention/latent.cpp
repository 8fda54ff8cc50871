// Latent attention: keys and values of all heads are expanded from one narrow latent per token, which is all that a
// cache keeps, beside a rotated part of the key that the heads share.
//
//   c_j = norm(W_a x_j),   [k_j; v_j] of each head = W_b c_j,   q_i = W_q norm(W_qa x_i), or W_q x_i
//   s_ij = (q_i . k_j + rotate(q'_i) . rotate(k'_j)) / sqrt(d_nope + d_rope),   q' of each head, k' of all together
//   y_i = W_o [sum_j softmax_j(s_ij) v_j of each head]
//   one token with a cache: q_i . W_b c_j = (W_b^T q_i) . c_j, so that no key or value is expanded
//
// Without d_rope and latent_norm it is the form that textbooks start with.
// Source: DeepSeek-AI 2024, arXiv:2405.04434, section 2.1; its sizes in V3: arXiv:2412.19437, section 4.2.
// Cost:   O(seq^2 n_heads (d_nope + d_rope + d_value)); one token with a cache: O(seq n_heads (d_latent + d_rope)).
#include "headwright/plugin.h"

namespace {

/// Root mean square 1 over the features, then a learned factor for each.
class RmsNorm final : public torch::nn::Module {
 public:
  RmsNorm(std::int64_t d, double eps) : d_(d), eps_(eps) { weight_ = register_parameter("weight", at::ones({d})); }
  at::Tensor operator()(const at::Tensor& x) const { return at::rms_norm(x, {d_}, weight_, eps_); }

 private:
  const std::int64_t d_;
  const double eps_;
  at::Tensor weight_;
};

class Latent final : public headwright::Attention {
 public:
  static constexpr auto kSummary = "keys and values expanded from one narrow latent per token (MLA)";
  static constexpr auto kSource = "arXiv:2405.04434, section 2.1";

  struct Params {
    std::optional<std::int64_t> d_latent, d_q_latent, d_nope, d_value;
    std::int64_t d_rope = 0;
    headwright::Component position;
    bool latent_norm = true;
    std::optional<double> norm_eps;
    headwright::Mask mask;
    std::vector<headwright::ScoreModifier> modifiers;
    std::optional<double> scale;
    double dropout = 0;
    bool out_bias = false;

    static constexpr auto fields() {
      using headwright::at_least;
      using headwright::field;
      return std::tuple{
          field("d_latent", &Params::d_latent, "width of the latent of keys and values; absent = 4 d_head",
                at_least(1)),
          field("d_q_latent", &Params::d_q_latent, "width of a latent of queries; absent = queries straight from x",
                at_least(1)),
          field("d_nope", &Params::d_nope, "width of a head's queries and keys without position; absent = d_head",
                at_least(1)),
          field("d_rope", &Params::d_rope, "width of the rotated part, whose keys the heads share; 0 = none",
                at_least(0)),
          field("d_value", &Params::d_value, "width of a head's values; absent = d_nope", at_least(1)),
          field("position", &Params::position, "turns the rotated part",
                headwright::component_of(headwright::Kind::position)),
          field("latent_norm", &Params::latent_norm, "if latents pass an RMS norm before they are expanded"),
          field("norm_eps", &Params::norm_eps, "added to the mean square in latent_norm; absent = 1e-6",
                headwright::positive()),
          field("mask", &Params::mask, "which keys a query sees"),
          field("modifiers", &Params::modifiers, "changes to the scores before the mask, in their order"),
          field("scale", &Params::scale, "factor on q . k; absent = 1 / sqrt(d_nope + d_rope)", headwright::positive()),
          field("dropout", &Params::dropout, "probability of dropping a weight in training", headwright::probability()),
          field("out_bias", &Params::out_bias, "if the output projection adds a bias"),
      };
    }
  };

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    const auto* position = params.position.variant;
    const bool by_length =
        position != nullptr && position->claims(rotary_dims(dims, params), params.position.values).by_length;
    return {.causal = params.mask.hides_future(),
            .key_mask = true,
            .core = true,
            .cost = "O(seq^2 n_heads (d_nope + d_rope + d_value))",
            .cache = params.mask.hides_future() && !params.mask.reads_length() && !by_length,
            .document_ids = params.mask.reads_documents(),
            .positions = static_cast<bool>(params.position),
            .reads = {.n_heads = true, .d_head = !(params.d_latent && params.d_nope)}};
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    if (dims.n_kv_heads != dims.n_heads) {
      issues.add("n_kv_heads", "got " + std::to_string(dims.n_kv_heads) + ", but latent has as many as n_heads = " +
                                   std::to_string(dims.n_heads) + "; what its heads share is d_latent");
    }
    if (dims.d_head == 0 && dims.d_model % dims.n_heads != 0 && !(params.d_latent && params.d_nope)) {
      issues.add("d_model", "got " + std::to_string(dims.d_model) + ", but n_heads = " + std::to_string(dims.n_heads) +
                                " does not divide it; change one of them, or give d_head");
    }
    if (params.norm_eps && !params.latent_norm) issues.add("norm_eps", "has no effect without latent_norm");
    check_position(dims, params, issues);
  }

  static headwright::ParamMap effective(const headwright::Dims& dims, const Params& params) {
    const auto w = widths_of(dims, params);
    headwright::ParamMap values{
        {"d_latent", {w.latent}}, {"d_nope", {w.nope}}, {"d_value", {w.value}}, {"scale", {scale(w, params)}}};
    if (params.latent_norm) values.emplace_back("norm_eps", headwright::Value{params.norm_eps.value_or(kNormEps)});
    return values;
  }

  Latent(const headwright::Dims& dims, const Params& params)
      : dims_(dims), params_(params), widths_(widths_of(dims, params)) {
    const auto& w = widths_;
    const auto d_q = dims.n_heads * (w.nope + w.rope);
    if (w.q_latent > 0) {
      q_a_proj_ = linear("q_a_proj", dims.d_model, w.q_latent);
      q_a_norm_ = norm("q_a_norm", w.q_latent);
      q_b_proj_ = linear("q_b_proj", w.q_latent, d_q);
    } else {
      q_proj_ = linear("q_proj", dims.d_model, d_q);
    }
    kv_a_proj_ = linear("kv_a_proj", dims.d_model, w.latent + w.rope);
    kv_a_norm_ = norm("kv_a_norm", w.latent);
    kv_b_proj_ = linear("kv_b_proj", w.latent, dims.n_heads * (w.nope + w.value));
    out_proj_ = linear("out_proj", dims.n_heads * w.value, dims.d_model, params.out_bias);
    position_ = headwright::make_position(params.position, rotary_dims(dims, params));
    if (position_) register_module("position", position_);
  }

  at::Tensor forward(const headwright::Inputs& inputs) override {
    if (inputs.x.dim() != 3 || inputs.x.size(2) != dims_.d_model) {
      headwright::refuse_shape("latent", "x", inputs.x,
                               "(batch, length, d_model = " + std::to_string(dims_.d_model) + ")");
    }
    auto q = queries(inputs.x);        // (batch, n_heads, seq, d_nope + d_rope)
    auto kept = compressed(inputs.x);  // (batch, seq, d_latent + d_rope)
    if (position_) turn(q, kept, inputs);
    const bool one_more = inputs.cache != nullptr && inputs.x.size(1) == 1;
    if (inputs.cache != nullptr) {
      kept = headwright::extend(*inputs.cache, "latent", kept, 1);  // (batch, keys, d_latent + d_rope)
      inputs.cache->length.add_(inputs.x.size(1));
    }
    note(inputs, "latent", "what is kept of each token (batch, keys, d_latent + d_rope)", [&] { return kept; });
    const auto heads = one_more ? mix_latents(q, kept, inputs) : mix_expanded(q, kept, inputs);
    note(inputs, "heads", "output of each head (batch, n_heads, seq, d_value)", [&] { return heads; });
    return out_proj_(headwright::merge_heads(heads));  // (batch, seq, d_model)
  }

  headwright::KernelChoice kernel() const override { return choose_kernel(scoring({})); }

  headwright::Mask mask() const override { return params_.mask; }

  headwright::Cache make_cache(std::int64_t batch, std::int64_t capacity) const override {
    const auto width = widths_.latent + widths_.rope;
    return {
        .tensors = {{"latent", at::zeros({batch, capacity, width}, kv_a_proj_->weight.options().requires_grad(false))}},
        .length = at::zeros({}, at::kLong)};
  }

 private:
  struct Widths {
    std::int64_t q_latent, latent, nope, rope, value;
  };

  static constexpr double kNormEps = 1e-6;

  static double scale(const Widths& w, const Params& params) {
    return params.scale.value_or(1 / std::sqrt(static_cast<double>(w.nope + w.rope)));
  }

  static Widths widths_of(const headwright::Dims& dims, const Params& params) {
    const auto d_head = d_head_of(dims);
    const auto nope = params.d_nope.value_or(d_head);
    return {.q_latent = params.d_q_latent.value_or(0),
            .latent = params.d_latent.value_or(4 * d_head),
            .nope = nope,
            .rope = params.d_rope,
            .value = params.d_value.value_or(nope)};
  }

  /// The sizes that the position is made for: it sees the rotated part alone, with one head of keys.
  static headwright::Dims rotary_dims(headwright::Dims dims, const Params& params) {
    dims.d_head = params.d_rope;
    dims.n_kv_heads = 1;
    return dims;
  }

  static void check_position(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    const auto* position = params.position.variant;
    if (params.d_rope > 0 && position == nullptr) {
      issues.add("d_rope", "got " + std::to_string(params.d_rope) +
                               ", but no position turns it; give one that rotates, such as position: rope");
    }
    if (position == nullptr) return;
    const auto rotary = rotary_dims(dims, params);
    if (params.d_rope == 0) {
      issues.add("position", "got '" + position->name + "', which has nothing to turn without d_rope");
    } else if (!position->claims(rotary, params.position.values).rotate) {
      issues.add("position", "got '" + position->name + "', which does not rotate; expected one that does");
    } else {
      headwright::Issues of_position;
      position->check(rotary, params.position.values, of_position);
      for (const auto& item : of_position.items()) {
        issues.add("position", item.name + ": " + item.message + ", in heads of d_rope");
      }
    }
  }

  torch::nn::Linear linear(const char* name, std::int64_t in, std::int64_t out, bool bias = false) {
    return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(bias)));
  }
  std::shared_ptr<RmsNorm> norm(const char* name, std::int64_t width) {
    if (!params_.latent_norm) return nullptr;
    return register_module(name, std::make_shared<RmsNorm>(width, params_.norm_eps.value_or(kNormEps)));
  }

  at::Tensor queries(const at::Tensor& x) {
    if (!q_a_proj_) return headwright::split_heads(q_proj_(x), dims_.n_heads);
    auto latent = q_a_proj_(x);  // (batch, seq, d_q_latent)
    if (q_a_norm_) latent = (*q_a_norm_)(latent);
    return headwright::split_heads(q_b_proj_(latent), dims_.n_heads);
  }

  /// The latent, normalised, and beside it the key's part that is to be turned.
  at::Tensor compressed(const at::Tensor& x) {
    const auto both = kv_a_proj_(x);  // (batch, seq, d_latent + d_rope)
    if (!kv_a_norm_) return both;
    const auto latent = (*kv_a_norm_)(both.slice(-1, 0, widths_.latent));
    return widths_.rope == 0 ? latent : at::cat({latent, both.slice(-1, widths_.latent)}, -1);
  }

  /// Turns the last d_rope channels of both.
  void turn(at::Tensor& q, at::Tensor& kept, const headwright::Inputs& inputs) {
    const auto positions = positions_of(inputs);
    const auto shared = kept.slice(-1, widths_.latent).unsqueeze(1);  // (batch, 1, seq, d_rope)
    const auto [q_part, k_part] = position_->rotate(q.slice(-1, widths_.nope), shared, positions, positions);
    q = at::cat({q.slice(-1, 0, widths_.nope), q_part}, -1);
    kept = at::cat({kept.slice(-1, 0, widths_.latent), k_part.squeeze(1)}, -1);
  }

  headwright::Scoring scoring(const headwright::Inputs& inputs) const {
    auto scoring = scoring_of_run(inputs, dims_, /*cross=*/false);
    scoring.scale = scale(widths_, params_);
    scoring.mask = params_.mask;
    scoring.modifiers = params_.modifiers;
    scoring.dropout = is_training() ? params_.dropout : 0;
    return scoring;
  }

  at::Tensor attended(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const headwright::Inputs& inputs) {
    return headwright::attend(inputs, q, k, v, scoring(inputs)).y;
  }

  /// Every head's keys and values, from the latent. Returns (batch, n_heads, seq, d_value).
  at::Tensor mix_expanded(const at::Tensor& q, const at::Tensor& kept, const headwright::Inputs& inputs) {
    const auto expanded = headwright::split_heads(kv_b_proj_(kept.slice(-1, 0, widths_.latent)), dims_.n_heads);
    auto k = expanded.slice(-1, 0, widths_.nope);  // (batch, n_heads, keys, d_nope)
    if (widths_.rope > 0) {
      const auto shared = kept.slice(-1, widths_.latent).unsqueeze(1);  // (batch, 1, keys, d_rope)
      k = at::cat({k, shared.expand({-1, dims_.n_heads, -1, -1})}, -1);
    }
    return attended(q, k, expanded.slice(-1, widths_.nope), inputs);
  }

  /// The same of queries carried into the latent's space: one head of keys and values for all, the latents themselves.
  at::Tensor mix_latents(const at::Tensor& q, const at::Tensor& kept, const headwright::Inputs& inputs) {
    const auto weight = kv_b_proj_->weight.unflatten(0, {dims_.n_heads, widths_.nope + widths_.value});
    const auto to_keys = weight.slice(1, 0, widths_.nope);  // (n_heads, d_nope, d_latent)
    const auto to_values = weight.slice(1, widths_.nope);   // (n_heads, d_value, d_latent)
    const auto carried = q.slice(-1, 0, widths_.nope).matmul(to_keys);
    const auto k = kept.unsqueeze(1);  // (batch, 1, keys, d_latent + d_rope)
    const auto mixed = attended(at::cat({carried, q.slice(-1, widths_.nope)}, -1), k, k.slice(-1, 0, widths_.latent),
                                inputs);               // (batch, n_heads, seq, d_latent)
    return mixed.matmul(to_values.transpose(-2, -1));  // (batch, n_heads, seq, d_value)
  }

  const headwright::Dims dims_;
  const Params params_;
  const Widths widths_;
  torch::nn::Linear q_proj_{nullptr}, q_a_proj_{nullptr}, q_b_proj_{nullptr}, kv_a_proj_{nullptr}, kv_b_proj_{nullptr},
      out_proj_{nullptr};
  std::shared_ptr<RmsNorm> q_a_norm_, kv_a_norm_;
  std::shared_ptr<headwright::Position> position_;
};

}  // namespace

HEADWRIGHT_PLUGIN("latent", Latent);
