// Counts zeros as ones in Sign, where the user asked for it.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Replaces Sign(x) of f32 by Where(x >= 0, 1, -1) where the Sign alone keeps a product with
/// two-valued weights from having two-valued inputs. All readers then get other values than the
/// model's where x is 0. The comparisons get the attribute `lenient`, which ListBinary reports.
/// Call it before other passes. True if anything changed.
Result<bool> MakeSignsLenient(ir::Graph& graph);

}  // namespace fettle::passes
