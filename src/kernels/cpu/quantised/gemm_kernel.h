// A product of bytes made ready: packed weights, and tasks of rows and panels.
#pragma once

#include <memory>
#include <optional>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/operands.h"

namespace fettle::kernels {

/// A product to be made ready; `pixels` are those of the problem's states.
struct QuantProduct {
  const Problem& problem;
  const QuantisedGroup& q;
  const QuantShapes& shapes;
  ConvPixels pixels;
  const QuantKernels* kernels;  // of vectors
  Blocking blocking;
  /// Makes results of floats, where there is one.
  std::optional<elementwise::Program> program;
};

/// By the micro-kernels of vectors.
std::unique_ptr<PreparedKernel> MakeQuantGemm(QuantProduct product, const CpuDevice& device);
/// By those of matrix tiles (amx_gemm.cc); rows and results are channels-last, and blocking.rows is
/// a multiple of two tiles.
std::unique_ptr<PreparedKernel> MakeAmxGemm(QuantProduct product, const CpuDevice& device);

}  // namespace fettle::kernels
