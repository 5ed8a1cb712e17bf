// A matrix product made ready for launches: its programs, packed constants and arguments.
#pragma once

#include <memory>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/match/product.h"
#include "kernels/opencl/gemm/algorithm.h"
#include "kernels/opencl/norm/row_norm.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// `product`, node 0 of a problem's group, as `setup` says, with its epilogue. With `norm`, for
/// which `setup` defines the macros, the last output of the launch has the rows normalised.
Result<std::unique_ptr<PreparedKernel>> PrepareProduct(const Problem& problem, const Device& device,
                                                       Product product, const GemmShape& shape,
                                                       GemmSetup setup, Arithmetic arithmetic,
                                                       std::optional<RowNorm> norm = {});

}  // namespace fettle::kernels
