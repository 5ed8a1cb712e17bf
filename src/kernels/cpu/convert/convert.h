// Conversions between states of host tensors.
#pragma once

#include <memory>

#include "base/status.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// A kernel with one input in state `from` (which may be external: any alignment) and one output in
/// state `to`.
Result<std::unique_ptr<PreparedKernel>> PrepareConversion(const Shape& shape, const State& from,
                                                          const State& to, const Device& device);

}  // namespace fettle::kernels
