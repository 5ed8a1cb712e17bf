// What graphs of one model for different input shapes have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// A graph with concrete shapes as two lists: the facts that must be equal in graphs that are
/// treated alike (operators, edges, types, ranks, which values are constants), and the extents of
/// all values, which may differ a little. O(size); two lists are compared in O(size) too.
struct Outline {
  std::vector<int64_t> structure, extents;

  Outline() = default;
  explicit Outline(const ir::Graph& graph);
};

/// The largest ratio of two extents that count as near.
inline constexpr int64_t kNearRatio = 4;

/// How far the extents of graphs of one structure are apart: the largest ratio (1: equal). 0 where
/// they are not near: an extent is at most 1 in only one of them, or the ratio is above kNearRatio.
double Distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace fettle::passes
