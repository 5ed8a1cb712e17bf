// Constants with their axes in another order, without a second copy of their elements.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace fettle {

/// `base` with axis perm[i] as axis i; `perm` is a permutation of its axes. Elements are read from
/// `base`, which is stored and whose elements take whole bytes (HasWholeBytes), each time they are
/// asked for: by what packs weights, once.
Constant Transposed(const Constant& base, const std::vector<int>& perm);

/// Whether elements of `dtype` can be moved one by one.
bool HasWholeBytes(DType dtype);

}  // namespace fettle
