// How well a graph of one set of extents is spelt, and whether two of two sets are spelt alike.
#pragma once

#include "exec/near_programs.h"

namespace fettle::runtime {

/// Whether `live` is about as good as `best`, which passes made of it: they save little arithmetic
/// and few bytes.
bool IsNearlyAsGood(const ir::Graph& live, const ir::Graph& best);

/// Whether the scalar reference computes an operator of `plan` of which `best`, the same graph
/// after passes, has fewer.
bool NeedsPasses(const exec::Plan& plan, const ir::Graph& best);

/// Those of all values but constants, in order.
exec::Extents ExtentsOf(const ir::Graph& graph);

/// Whether two graphs of concrete shapes are the same but for extents and constants.
bool AreSpeltAlike(const ir::Graph& a, const ir::Graph& b);

}  // namespace fettle::runtime
