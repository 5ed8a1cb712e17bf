// Constants of any type as floats.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace fettle {

/// Elements [begin, begin + count) of `constant`, which are numbers of any type, as floats.
void ReadFloats(const Constant& constant, int64_t begin, int64_t count, float* out);

}  // namespace fettle
