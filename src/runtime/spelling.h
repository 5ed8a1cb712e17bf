// How well a graph of one set of extents is spelt, and whether two of two sets are spelt alike.
#pragma once

#include "exec/near_programs.h"

namespace fettle::runtime {

/// Whether `live` is about as good as `best`, which passes made of it: they save little arithmetic
/// and few bytes.
bool IsNearlyAsGood(const ir::Graph& live, const ir::Graph& best);

/// The steps that the scalar reference takes tens of microseconds for, or longer.
int LongReferencesOf(const exec::Plan& plan);

/// Those of all values but constants, in order.
exec::Extents ExtentsOf(const ir::Graph& graph);

/// Whether two graphs of concrete shapes are the same but for extents and constants.
bool AreSpeltAlike(const ir::Graph& a, const ir::Graph& b);

}  // namespace fettle::runtime
