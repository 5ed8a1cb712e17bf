// The kernels of OpenCL devices, for tests of them all.
#pragma once

#include "kernels/kernel.h"

namespace fettle::kernels {

/// In no particular order (table.cc).
std::span<const KernelDesc* const> OpenClKernels();

}  // namespace fettle::kernels
