// Conversions between states of an OpenCL device, and between them and the host's.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A kernel of `device` with one input in state `from` and one output in state `to`, at least one
/// of them the device's. Layouts whose channels lie in blocks (row-major and channels last
/// included) in any pair; row-major ones and those with the last axis outermost, or in pixels of
/// four with all others along y; f32 and f16 in any pair, other types as they are. kUnsupported for
/// anything else. Reading from the device waits for it; its workspace is the device's.
Result<std::unique_ptr<PreparedKernel>> PrepareOpenClConversion(const Shape& shape,
                                                                const State& from, const State& to,
                                                                const Device& device);

/// What PrepareOpenClConversion refuses.
Status CheckOpenClConversion(const Shape& shape, const State& from, const State& to);

}  // namespace fettle::kernels
