// Bounds of values, and the terms that straight-through estimators leave in a graph.
#pragma once

#include <array>
#include <optional>

#include "ir/graph.h"

namespace fettle::passes {

using ProducerList = IdVector<ir::ValueId, ir::NodeId>;

/// The least and the greatest number that a value of f32 can have, as its operators round: Clip,
/// Relu, Sigmoid, HardSigmoid and Tanh have bounds, and monotone operators with numbers pass bounds
/// on. NaN is not counted. Nothing where there are no bounds; ends may be infinite.
std::optional<std::array<double, 2>> BoundsOf(const ir::Graph& graph, const ProducerList& producers,
                                              ir::ValueId id);

/// The value s where `id` is (s - c) + c. s is a sign of v: -1 or 1, or with 0 for Sign. c is
/// Clip(v), Tanh(v) or polynomials of v between comparisons; it has the sign of v and lies within
/// [-2, 2]. The result is s itself: s - c is exact, or within a quarter of the last bit of s, which
/// the sum rounds away. `id` where it has no such form.
ir::ValueId SkipEstimator(const ir::Graph& graph, const ProducerList& producers, ir::ValueId id);

}  // namespace fettle::passes
