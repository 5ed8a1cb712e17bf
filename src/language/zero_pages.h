// Tensors of zeros that take memory only where they are written.
#pragma once

#include "tensor/tensor.h"

namespace fettle::language {

/// As Tensor::Create makes it, but on pages that the system provides when they are first written: a
/// cache for many tokens takes only the memory of the tokens read. kOutOfMemory.
Result<Tensor> ZeroPages(DType dtype, const Shape& shape);

}  // namespace fettle::language
