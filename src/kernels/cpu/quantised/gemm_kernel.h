// A product of bytes made ready: packed weights, and tasks of rows and panels.
#pragma once

#include <memory>
#include <optional>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/match/quantised_group.h"

namespace fettle::kernels {

/// A product as the convolution that it is: rows are pixels of one line.
struct QuantShapes {
  ConvGeometry g;
  bool transposed = false;  // weights [ic][oc]
};

/// The micro-kernels for its columns.
const QuantKernels& KernelsFor(const ConvGeometry& g);

/// `program` makes results of floats, where there is one; `pixels` are those of the problem's
/// states.
std::unique_ptr<PreparedKernel> MakeQuantGemm(const Problem& problem, const QuantisedGroup& q,
                                              const QuantShapes& shapes, const ConvPixels& pixels,
                                              const Blocking& blocking,
                                              std::optional<elementwise::Program> program,
                                              const CpuDevice& device);

}  // namespace fettle::kernels
