// A matrix product made ready for launches: its program, packed constants and arguments.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "kernels/opencl/gemm/rung.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// A program's file and function.
struct ProgramFunction {
  const char* path;
  const char* function;
};

/// The product of a problem's group, with its epilogue, by `source` as `setup` says. `swaps`: the
/// program takes B before A.
Result<std::unique_ptr<PreparedKernel>> PrepareProduct(const Problem& problem, const Device& device,
                                                       const GemmShape& shape, GemmSetup setup,
                                                       const ProgramFunction& source, bool swaps,
                                                       Arithmetic arithmetic = Arithmetic::kF32);

}  // namespace fettle::kernels
