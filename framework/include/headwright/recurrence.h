// What layers share that carry a state along the sequence: fading without lost digits, and packed documents.
#pragma once
#include <string_view>

#include "headwright/attention.h"

namespace headwright {

/// At (i, j): the sum of the steps behind j up to i, itself included; 0 for i = j, -inf above the diagonal.
/// steps: (..., length) -> (..., length, length). Each is added up on its own: in a difference of two running sums the
/// digits of a small one are lost behind large steps. A step of -inf cuts off what came before it.
HEADWRIGHT_API at::Tensor sums_between(const at::Tensor& steps);

/// The states before each of the chunks of a sequence: zeros, then exp(log_kept) times the last one plus what its chunk
/// added. added: (batch, n_heads, chunks, rows, columns); log_kept: (batch or 1, n_heads or 1, chunks). While tracing
/// each is weighed on its own, at a cost of O(chunks^2), since a trace would write down the number of a loop's steps.
HEADWRIGHT_API at::Tensor states_before(const at::Tensor& added, const at::Tensor& log_kept);

/// The number of documents that begin among the tokens of x up to each, (batch, seq) int64: 0 = of what came before x,
/// in the cache. A document begins where the id differs from the one before it. Undefined without document ids, and
/// without tokens. Throws ShapeError "[op] document_ids: ..." where they are not of all tokens so far.
HEADWRIGHT_API at::Tensor document_numbers(std::string_view op, const Inputs& inputs);

/// Tokens in the chunks of a sequence by their documents. A state between two chunks holds the document of the last
/// token before it.
struct DocumentChunks {
  /// numbers: of document_numbers(). The sequence is cut into chunks of `size` tokens, filled up behind the end.
  HEADWRIGHT_API DocumentChunks(const at::Tensor& numbers, std::int64_t size);

  at::Tensor same;      // (batch, 1, chunks, size, size) bool: both are of one document
  at::Tensor goes_on;   // (batch, 1, chunks, size, 1) bool: is of the document that the state before its chunk holds
  at::Tensor stays;     // (batch, 1, chunks, size, 1) bool: is of the document that the state behind its chunk holds
  at::Tensor log_kept;  // (batch, 1, chunks): 0 = both states are of one document, else -inf
};

}  // namespace headwright
