// Functions of one number, piece by piece: the polynomials between comparisons that
// straight-through estimators subtract and add again.
#pragma once

#include "ir/graph.h"
#include "passes/binary/bounds.h"

namespace fettle::passes {

/// Whether c is computed from v and numbers alone and, wherever it is a number, lies within [0, 2]
/// where v is above 0, within [-2, 0] where it is below, and is 0 at 0. Proven by intervals of v,
/// octave by octave, with the rounding of comparisons, Where, Cast, Neg, sums and products of f32.
/// These are monotone, so the ends of intervals need no margin.
bool HasSignWithinTwo(const ir::Graph& graph, const ProducerList& producers, ir::ValueId c,
                      ir::ValueId v);

}  // namespace fettle::passes
