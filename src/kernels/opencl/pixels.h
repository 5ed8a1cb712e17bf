// Kernels from pixels to pixels: one launch of a function, finished by an expression.
#pragma once

#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {

/// The states of a group that computes `running` itself and finishes it by an expression: all
/// operands beside each of PixelStates. kUnsupported where an operator cannot follow, or the output
/// is not in pixels.
Result<std::vector<StateAssignment>> PixelCandidates(const ir::Graph& group, ir::ValueId running,
                                                     const Device& device);

struct PixelProgram {
  std::string_view path, function;  // a source below kernels/opencl, and what of it is launched
  BuildOptions options;             // those of access.clh and its own
  WorkSizes sizes;
};

/// A launch whose arguments begin with those of x and the group's output: memory, offset and
/// PixelDims of each. Where x is row-major its offset counts elements, and its dims are (channels,
/// height, width, batch). The caller adds what else the function takes, before the expression that
/// makes the output of `running` (ir::kAbsent: the function finishes it itself).
Result<std::unique_ptr<RecordedKernel>> RecordPixels(const Problem& problem, ir::ValueId x,
                                                     ir::ValueId running,
                                                     const PixelProgram& program,
                                                     const Device& device);

}  // namespace fettle::kernels
