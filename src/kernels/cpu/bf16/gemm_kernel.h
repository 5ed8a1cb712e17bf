// A product of bf16 made ready: packed weights, and tasks of rows and panels.
#pragma once

#include <memory>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/bf16/block.h"
#include "kernels/cpu/bf16/operands.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"

namespace fettle::kernels {

/// How a product is cut: blocking.rows is a multiple of two tiles.
struct Bf16Cut {
  int tile_rows = 0;
  int64_t most_rows = 0;  // of a task: packed, they take a part of the second-level cache
  int64_t all_panels = 0;
  Blocking usual;
};
Bf16Cut CutBf16(const Bf16Product& product, const Bf16Blocks& blocks, int threads,
                const CpuDevice& device);

/// `pixels` are those of the problem's states, which are channels-last.
std::unique_ptr<PreparedKernel> MakeBf16Gemm(const Problem& problem, const Bf16Product& product,
                                             const ConvPixels& pixels, Epilogue epilogue,
                                             const Blocking& blocking, const Bf16Blocks& blocks,
                                             const CpuDevice& device);

}  // namespace fettle::kernels
