// Between which numbers values lie, and what straight-through estimators leave in a graph.
#pragma once

#include <array>
#include <optional>

#include "ir/graph.h"

namespace fettle::passes {

using ProducerList = IdVector<ir::ValueId, ir::NodeId>;

/// The least and the greatest number that a value of f32 can be, as its operators round them: Clip,
/// Relu, Sigmoid, HardSigmoid and Tanh bound theirs, monotone operators with numbers carry bounds
/// on. A NaN is none of the numbers. Nothing where there are no bounds; ends may be infinite.
std::optional<std::array<double, 2>> BoundsOf(const ir::Graph& graph, const ProducerList& producers,
                                              ir::ValueId id);

/// What (s - c) + c is, for a sign s of -1 or 1 (or Sign, with 0) of v, and c = Clip(v), Tanh(v) or
/// polynomials of v between comparisons, which has the sign of v and lies within [-2, 2]: s itself,
/// for s - c is then exact, or within a quarter of the last bit of s, which the sum rounds away.
/// `id` where it is nothing like that.
ir::ValueId SkipEstimator(const ir::Graph& graph, const ProducerList& producers, ir::ValueId id);

}  // namespace fettle::passes
