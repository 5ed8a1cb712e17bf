// Matrix products as textbooks write them: where `fettle gemm --ladder` starts on the CPU. No plan
// has them.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernel.h"

namespace fettle::tools {

struct TextbookProduct {
  std::string_view name;
  kernels::KernelDesc kernel;
};

/// In the order in which they are shown. They make one MatMul of two f32 inputs, row-major on the
/// host, on one thread.
std::span<const TextbookProduct> TextbookProducts();

}  // namespace fettle::tools
