// Kernels that compute in f16: sums of products but in part, all else entirely. They are a choice
// at precision low alone.
#pragma once

#include <algorithm>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// Those of OpenCL devices, which OpenClKernels() leaves out (opencl/table.cc).
std::span<const KernelDesc* const> OpenClHalfKernels();

inline bool ComputesInHalf(const KernelDesc& kernel) {
  const auto kernels = OpenClHalfKernels();
  return std::find(kernels.begin(), kernels.end(), &kernel) != kernels.end();
}

}  // namespace fettle::kernels
