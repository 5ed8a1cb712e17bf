// The terms that attention adds to its scores, as constants and nodes.
#pragma once

#include "base/status.h"
#include "ops/attention/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {

/// Values of a graph; kAbsent where there is nothing to do.
struct ScoreMask {
  ir::ValueId added = ir::kAbsent;  // to the scores; finite, and broadcasts to them
  /// 1 for queries that see a key, otherwise 0: [.., queries | 1, 1]. Absent where all do.
  ir::ValueId seen = ir::kAbsent;
};

/// The mask of the attention that `nodes` spell, whose sizes are `a`, with its causal order and
/// window. Fails with kOutOfMemory.
Result<ScoreMask> MaskScores(TypedNodes& nodes, const ops::AttentionShape& a);

}  // namespace fettle::passes
