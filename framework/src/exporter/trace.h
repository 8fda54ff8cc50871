// A component's forward as a graph, and what traces of the same forward have in common.
#pragma once
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>
#include <vector>

#include "exporter/script.h"

namespace headwright::exporter {

using Graph = std::shared_ptr<torch::jit::Graph>;

/// What part.eager does with what the signature takes of `example`. Throws what the forward throws.
Graph trace_graph(Part& part, const Signature& signature, const Inputs& example);

/// A trace, and the dtypes in which the forward does just this.
struct Version {
  std::vector<at::ScalarType> dtypes;
  Graph graph;
};

/// One trace per dtype, those that are alike together; the first is the dtype that the part is in. A dtype that the
/// forward cannot compute in is left out. So no dtype stays in a graph that another one gets.
std::vector<Version> trace_in_each_dtype(Part& part, const Signature& signature, const Inputs& example);

/// The operators that run more often the longer the sequence is, such as "aten::matmul, aten::add": a loop over time,
/// which a trace unrolls. Empty = none. example: with a sequence of at least 2.
std::string loop_over_time(Part& part, const Signature& signature, const Inputs& example);

/// The operators that take a number which follows the sizes of the example, such as "aten::slice takes 6". Empty =
/// none.
std::string baked_sizes(Part& part, const Signature& signature, const Inputs& example);

}  // namespace headwright::exporter
