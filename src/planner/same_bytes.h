// States whose bytes are the same.
#pragma once

#include "tensor/state.h"

namespace fettle::planner {

/// True where a tensor of `shape` in state `a` lies in memory as in state `b` (an NHWC tensor of
/// one pixel is row-major too), so that a conversion costs nothing. External tensors are never so.
bool SameBytes(const Shape& shape, const State& a, const State& b);

}  // namespace fettle::planner
