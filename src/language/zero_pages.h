// Tensors of zeros that take memory only where they are written.
#pragma once

#include "tensor/tensor.h"

namespace fettle::language {

/// As Tensor::Create makes it, on pages that the system gives when they are first written: a cache
/// for many tokens costs what its tokens cost. kOutOfMemory.
Result<Tensor> ZeroPages(DType dtype, const Shape& shape);

}  // namespace fettle::language
