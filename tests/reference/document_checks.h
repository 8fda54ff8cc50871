// Packed documents: each as if it stood alone, in one go, in pieces from a cache, and by its gradients.
#pragma once
#include "exporter/component_script.h"
#include "reference/sequence_checks.h"

namespace loops::inline along_a_sequence {

/// (3, seq): one document, two that meet in the middle, and a new one at every 13th token.
inline at::Tensor packed(std::int64_t seq_len) {
  const auto token = at::arange(seq_len);
  return at::stack({token * 0 + 4, token.ge(seq_len / 2).to(at::kLong), token.floor_divide(13) * -3});
}

/// The layer over each document on its own, the outputs in their order.
inline Reference each_alone(const Subject& subject, const at::Tensor& key_mask, const at::Tensor& ids) {
  return [=](const torch::nn::Module& module, const Rows& x, std::int64_t b) {
    Rows all;
    const auto id = [&](std::size_t t) { return ids[b][static_cast<std::int64_t>(t)].item<std::int64_t>(); };
    for (std::size_t begin = 0, end = 0; begin < x.size(); begin = end) {
      std::vector<bool> visible;
      for (end = begin; end < x.size() && id(end) == id(begin); ++end) {
        visible.push_back(!key_mask.defined() || key_mask[b][static_cast<std::int64_t>(end)].item<bool>());
      }
      const Rows part(x.begin() + std::ptrdiff_t(begin), x.begin() + std::ptrdiff_t(end));
      for (const auto& row : subject.layer(module, part, visible)) all.push_back(row);
    }
    return all;
  };
}

inline void expect_each_document_alone(const Subject& subject) {
  EXPECT_TRUE(subject.claims().document_ids);
  const at::NoGradGuard no_grad;
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-10}, {at::kFloat, 1e-5}}) {
    for (const std::int64_t seq_len : {1, 2, 17, 63, 130, 200}) {
      const auto ids = packed(seq_len);
      for (const auto& mask : subject.masks(seq_len)) {
        const auto module = subject.make();
        module->to(dtype);
        const auto x = subject.draw(seq_len).to(dtype);
        const auto y = module->forward({.x = x, .key_mask = mask, .document_ids = ids});
        module->to(at::kDouble);  // the rounded parameters
        const auto reference = each_alone(subject, mask, ids);
        EXPECT_LE(difference(reference, *module, x.to(at::kDouble), y.to(at::kDouble)), tolerance)
            << toString(dtype) << ", length " << seq_len << (mask.defined() ? ", with hidden tokens" : "");
      }
    }
  }
}

inline void expect_gradients_of_each_document_alone(const Subject& subject) {
  for (const std::int64_t seq_len : {2, 17}) {
    for (const auto& mask : subject.masks(seq_len)) {
      SCOPED_TRACE("length " + std::to_string(seq_len) + (mask.defined() ? ", with hidden tokens" : ""));
      const auto module = subject.make();
      const auto ids = packed(seq_len);
      expect_agreement(each_alone(subject, mask, ids), *module, subject.draw(seq_len), [&](const at::Tensor& x) {
        return module->forward({.x = x, .key_mask = mask, .document_ids = ids});
      });
    }
  }
}

/// The pieces end where a document begins, within one, and within a chunk; a document may go on through several.
inline void expect_documents_in_pieces_as_the_whole(const Subject& subject) {
  const at::NoGradGuard no_grad;
  const auto module = subject.make();
  for (const std::int64_t seq_len : {18, 130}) {
    const auto x = subject.draw(seq_len), ids = packed(seq_len);
    for (const auto& mask : subject.masks(seq_len)) {
      const auto whole = module->forward({.x = x, .key_mask = mask, .document_ids = ids});
      for (const auto& lengths : {std::vector<std::int64_t>(18, 1), {13, 13, 39}, {65, 64}, {2, 7, 1, 80}}) {
        auto cache = module->make_cache(3, seq_len);
        std::vector<at::Tensor> outputs;
        std::int64_t begin = 0;
        for (std::size_t i = 0; begin < seq_len; ++i) {
          const auto end = i < lengths.size() ? std::min(begin + lengths[i], seq_len) : seq_len;
          outputs.push_back(module->forward({.x = x.slice(1, begin, end),
                                             .key_mask = mask.defined() ? mask.slice(1, 0, end) : mask,
                                             .document_ids = ids.slice(1, 0, end),
                                             .cache = &cache}));
          begin = end;
        }
        EXPECT_EQ(cache.tokens(), seq_len);
        EXPECT_LE((at::cat(outputs, 1) - whole).abs().max().item<double>(), 1e-10 * whole.abs().max().item<double>())
            << "length " << seq_len << ", first piece " << lengths[0] << (mask.defined() ? ", with hidden tokens" : "");
      }
    }
  }
}

/// Ids of other shapes and types, and those that forget the tokens in the cache.
inline void expect_ids_that_do_not_fit_refused(const Subject& subject) {
  const auto module = subject.make();
  const auto x = subject.draw(5);
  const auto given = [&](const at::Tensor& ids) { module->forward({.x = x, .document_ids = ids}); };
  EXPECT_THROW(given(at::zeros({3, 4}, at::kLong)), headwright::ShapeError);
  EXPECT_THROW(given(at::zeros({1, 5}, at::kLong)), headwright::ShapeError);
  EXPECT_THROW(given(at::zeros({3, 5})), headwright::ShapeError);
  if (!subject.claims().cache) return;
  auto cache = module->make_cache(3, 10);
  module->forward({.x = x, .cache = &cache});
  EXPECT_THROW(module->forward({.x = x, .document_ids = at::zeros({3, 5}, at::kLong), .cache = &cache}),
               headwright::ShapeError);
}

/// All of them, of a layer with a cache or without one.
inline void expect_documents_apart(const Subject& subject) {
  expect_each_document_alone(subject);
  if (subject.claims().cache) expect_documents_in_pieces_as_the_whole(subject);
  expect_ids_that_do_not_fit_refused(subject);
}

/// A layer that writes its TorchScript itself, as a module of its own.
inline torch::jit::Module written(const headwright::Attention& module) {
  auto scripted = headwright::exporter::mirror(module, "Layer", std::make_shared<torch::jit::CompilationUnit>());
  scripted.define(module.torchscript());
  return scripted;
}

}  // namespace loops::inline along_a_sequence
