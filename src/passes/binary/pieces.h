// What functions of one number are, piece by piece: the polynomials between comparisons that
// straight-through estimators subtract and add again.
#pragma once

#include "ir/graph.h"
#include "passes/binary/bounds.h"

namespace fettle::passes {

/// Whether c is computed from v and numbers alone and is, wherever it is a number, within [0, 2]
/// where v is above 0, within [-2, 0] below, and 0 at 0. Proven by intervals of v from octave to
/// octave, as comparisons, Where, Cast, Neg and the sums and products of f32 round: those are
/// monotone, so that the ends of intervals need no margin.
bool HasSignWithinTwo(const ir::Graph& graph, const ProducerList& producers, ir::ValueId c,
                      ir::ValueId v);

}  // namespace fettle::passes
