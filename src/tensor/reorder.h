// The generic conversion between any two layouts and storage types: the reference that fast
// conversions are checked against.
#pragma once

#include <cstddef>

#include "tensor/shape.h"
#include "tensor/state.h"

namespace fettle {

/// Copies a host tensor of `shape` from state `from` to state `to`; writes zero to pad lanes. Float
/// to integer storage rounds to nearest even and saturates. The memory must not overlap.
/// Single-threaded.
void Reorder(const Shape& shape, const State& from, const std::byte* src, const State& to,
             std::byte* dst);

}  // namespace fettle
