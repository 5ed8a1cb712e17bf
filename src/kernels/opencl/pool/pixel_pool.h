// What pooling of pixels computes.
#pragma once

#include "kernels/kernel.h"
#include "ops/pool/op.h"

namespace fettle::kernels {

/// The numbers that pool/window.cl knows them by.
enum class PixelPoolKind : int32_t { kMax = 0, kAverageInside = 1, kAverageAll = 2 };

struct PixelPool {
  PixelPoolKind kind = PixelPoolKind::kMax;
  ops::Window window;  // of depth, height and width
};

/// Refuses a pooling of which a window holds padding alone: a maximum of nothing would be written
/// to the lanes behind the channels, too, which hold zeros. `x` and `y` are the shapes of input and
/// output, the window has an extent for each axis behind the second.
Status RefuseWindowsOfPadding(const ops::Window& window, const Shape& x, const Shape& y);

/// MaxPool, AveragePool, their global forms, and ReduceMean and ReduceMax over the plane, of floats
/// of rank 3 to 5. kUnsupported: anything else.
Result<PixelPool> ReadPixelPool(const ir::Graph& group, const Device& device);

}  // namespace fettle::kernels
