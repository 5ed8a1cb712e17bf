// One row of output pixels of a pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

/// A pooling over up to three spatial axes (unused ones lead with extent 1) of `batch` images whose
/// pixels are `channels` neighbouring elements: ImageExtents of any layout.
struct PoolPlan {
  using Axes = std::array<int64_t, 3>;
  int64_t batch = 1, channels = 1;
  int64_t pitch = 1;  // from pixel to pixel of the output: `channels`, or more in a window
  Axes in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1},
      pad_begin{0, 0, 0}, pad_end{0, 0, 0};
  bool max = false;
  bool count_include_pad = false;
  DType storage = DType::kF32;                      // of both sides: f32, u8 or i8
  float mul = 1, add = 0, least = 0, greatest = 0;  // for integers, as in AffineGroup

  /// A maximum of bytes that no other scale takes.
  bool selects_bytes() const { return max && storage != DType::kF32 && mul == 1 && add == 0; }
};

/// Where a row of output pixels lies: `row` counts (image, depth, height).
struct PoolRowAt {
  int64_t image, depth, height;

  PoolRowAt(const PoolPlan& plan, int64_t row) {
    const int64_t planes = row / plan.out[1];
    height = row - planes * plan.out[1];
    image = planes / plan.out[0];
    depth = planes - image * plan.out[0];
  }

  void Next(const PoolPlan& plan) {
    if (++height < plan.out[1]) return;
    height = 0;
    if (++depth < plan.out[0]) return;
    depth = 0;
    ++image;
  }
};

/// The taps of one axis that fall inside the input, and how many an average counts: at least one,
/// so that a window of padding alone gives 0.
struct PoolTaps {
  int64_t begin, end, first, counted;  // `first`: input position of tap 0

  PoolTaps(const PoolPlan& plan, size_t axis, int64_t position) {
    const int64_t dilation = plan.dilation[axis], kernel = plan.kernel[axis];
    first = position * plan.stride[axis] - plan.pad_begin[axis];
    // Most windows lie inside, and divisions would take longer than their taps.
    if (first >= 0 && first + (kernel - 1) * dilation < plan.in[axis]) {
      begin = 0, end = counted = kernel;
      return;
    }
    Clip(plan, axis);
  }

 private:
  [[gnu::noinline]] void Clip(const PoolPlan& plan, size_t axis) {
    const int64_t dilation = plan.dilation[axis], kernel = plan.kernel[axis];
    const auto below = [&](int64_t limit) {  // taps at positions before `limit`
      const int64_t room = limit - first;
      if (room <= 0) return int64_t{0};
      return std::min(kernel, dilation == 1 ? room : (room + dilation - 1) / dilation);
    };
    begin = below(0);
    end = std::max(begin, below(plan.in[axis]));
    counted = plan.count_include_pad ? below(plan.in[axis] + plan.pad_end[axis]) : end - begin;
    counted = std::max<int64_t>(counted, 1);
  }
};

/// Writes the pixels (n, d, h, *) of the output; `row` counts (n, d, h) linearly. For wide pixels:
/// vectors run along the channels.
void PoolRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row);

/// The same for narrow pixels: the input rows of the window are joined into one, then neighbours of
/// that one, so that vectors run along the width. kNarrowRows rows at a time: what was just stored
/// is read again in other vectors, which waits for the stores. `scratch` holds
/// PoolScratch(plan, rows) elements.
constexpr int64_t kNarrowRows = 16;
void PoolNarrowRows(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                    int64_t rows, float* scratch);
int64_t PoolScratch(const PoolPlan& plan, int64_t rows);

}  // namespace fettle::kernels
