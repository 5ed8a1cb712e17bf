// Rows of any storage type as float and back, dispatched to the best instruction set per call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

/// Whether fp32 holds the values of `storage` exactly, so that rows of it can go through float.
bool HasFloatRows(DType storage);

/// `n` dense elements of `from`, of type `from_type`, to `to_type`, through float. Float to integer
/// rounds to nearest even and saturates, NaN gives 0. Both types satisfy HasFloatRows.
void ConvertRow(DType from_type, const std::byte* from, DType to_type, std::byte* to, int64_t n);

}  // namespace fettle::kernels
