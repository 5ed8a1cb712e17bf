// How well a graph of one set of extents is spelt, and whether two of two sets are spelt alike.
#pragma once

#include <span>
#include <vector>

#include "exec/near_programs.h"

namespace fettle::runtime {

/// Whether `live` is about as good as `best`, which passes made of it: they save little arithmetic
/// and few bytes.
bool IsNearlyAsGood(const ir::Graph& live, const ir::Graph& best);

/// The steps that the scalar reference takes tens of microseconds for, or longer.
int LongReferencesOf(const exec::Plan& plan);

/// Whether the reference takes tens of microseconds for the node.
bool IsLongReference(const ir::Graph& graph, const ir::Node& node);

/// The nodes of `graph` that the reference computes; `values`: of `graph`, by value of the planned
/// one.
std::vector<ir::NodeId> ReferencesOf(const exec::Plan& plan, const ir::Graph& graph,
                                     std::span<const ir::ValueId> values);

/// Those of all values but constants, in order.
exec::Extents ExtentsOf(const ir::Graph& graph);

/// Whether two graphs of concrete shapes are the same but for extents and constants.
bool AreSpeltAlike(const ir::Graph& a, const ir::Graph& b);

}  // namespace fettle::runtime
