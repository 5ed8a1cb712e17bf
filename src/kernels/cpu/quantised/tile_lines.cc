#include "kernels/cpu/quantised/tile_lines.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

/// Tiles of fewer rows are better filled across lines.
constexpr int kLeastRows = 12;

int64_t Lines(const ConvGeometry& g) { return g.pixels() / g.out[2]; }

/// How far an axis is read, padding in front included.
int64_t ReadExtent(const ConvGeometry& g, size_t axis) {
  return (g.out[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1;
}

bool ReadsPadding(const ConvGeometry& g) {
  for (size_t axis = 0; axis < 3; ++axis) {
    if (g.pad[axis] != 0 || ReadExtent(g, axis) > g.in[axis]) return true;
  }
  return false;
}

}  // namespace

int TileRowsOf(const ConvGeometry& g) {
  if (Lines(g) > 1) {
    for (int rows = kMostTileRows; rows >= kLeastRows; --rows) {
      if (g.out[2] % rows == 0) return rows;
    }
  }
  const int64_t pixels = std::max<int64_t>(g.pixels(), 1);
  return static_cast<int>(CeilDiv(pixels, CeilDiv(pixels, kMostTileRows)));
}

bool TileLines::Fit(const ConvGeometry& g, int tile_rows) {
  return Lines(g) == 1 || g.out[2] % tile_rows == 0;
}

TileLines::TileLines(const ConvGeometry& g, const TapPlan& taps, int tile_rows)
    : g_(g),
      tile_rows_(tile_rows),
      pixel_bytes_(taps.in.block),
      images_(g.batch),
      pads_(ReadsPadding(g)),
      extent_(g.in) {
  for (size_t axis = 0; pads_ && axis < 3; ++axis) extent_[axis] = ReadExtent(g, axis);
  // A tap is a pixel, or the pixels of a whole row of the kernel.
  const int64_t across = taps.rows ? 1 : g.kernel[2];
  for (int64_t d = 0; d < g.kernel[0]; ++d) {
    for (int64_t h = 0; h < g.kernel[1]; ++h) {
      const int64_t line = d * g.dilation[0] * extent_[1] + h * g.dilation[1];
      for (int64_t w = 0; w < across; ++w)
        taps_.push_back((line * extent_[2] + w * g.dilation[2]) * pixel_bytes_);
    }
  }
}

void TileLines::Pad(CpuStream& stream, const std::byte* x, int32_t zero, std::byte* padded) const {
  constexpr int64_t kTaskBytes = 32 * 1024;
  const int64_t lines = images_ * extent_[0] * extent_[1];
  const int64_t per_task = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(line_bytes(), 1));
  // Pixels of a line that are the input's.
  const int64_t before = g_.pad[2] * pixel_bytes_;
  const int64_t copied =
      std::max<int64_t>(0, std::min(g_.in[2] * pixel_bytes_, line_bytes() - before));
  const auto pad_line = [&](int64_t line) {
    const int64_t h = line % extent_[1] - g_.pad[1];
    const int64_t d = line / extent_[1] % extent_[0] - g_.pad[0];
    const int64_t image = line / extent_[1] / extent_[0];
    std::byte* to = padded + line * line_bytes();
    if (d < 0 || d >= g_.in[0] || h < 0 || h >= g_.in[1] || copied == 0) {
      std::memset(to, zero, line_bytes());
      return;
    }
    const int64_t from = ((image * g_.in[0] + d) * g_.in[1] + h) * g_.in[2] * pixel_bytes_;
    std::memset(to, zero, before);
    std::memcpy(to + before, x + from, copied);
    std::memset(to + before + copied, zero, line_bytes() - before - copied);
  };
  stream.ParallelFor(CeilDiv(lines, per_task), [&](int64_t task, int) {
    const int64_t end = std::min(lines, (task + 1) * per_task);
    for (int64_t line = task * per_task; line < end; ++line) pad_line(line);
  });
}

int64_t TileLines::OffsetOf(int64_t pixel) const {
  const int64_t line = pixel / g_.out[2], w = pixel % g_.out[2] * g_.stride[2];
  const int64_t h = line % g_.out[1] * g_.stride[1];
  const int64_t depth = line / g_.out[1];
  const int64_t d = depth % g_.out[0] * g_.stride[0], image = depth / g_.out[0];
  return (((image * extent_[0] + d) * extent_[1] + h) * extent_[2] + w) * pixel_bytes_;
}

void TileLines::Read(const std::byte* from, PixelRange pixels, int64_t offset, int64_t chunks,
                     std::byte* copies, TileRows* out) const {
  const std::byte* first = from + OffsetOf(pixels.begin) + offset;
  const int64_t stride = g_.stride[2] * pixel_bytes_;
  if (pixels.rows == tile_rows_) {
    for (size_t t = 0; t < taps_.size(); ++t) out[t] = {first + taps_[t], stride, kTileDepth};
    return;
  }
  // Rows behind the last one may be nobody's memory.
  for (size_t t = 0; t < taps_.size(); ++t, copies += chunks * tile_rows_ * kTileDepth) {
    for (int64_t r = 0; r < pixels.rows; ++r) {
      for (int64_t c = 0; c < chunks; ++c) {
        std::memcpy(copies + (c * tile_rows_ + r) * kTileDepth,
                    first + taps_[t] + r * stride + c * kTileDepth, kTileDepth);
      }
    }
    out[t] = {copies, kTileDepth, tile_rows_ * kTileDepth};
  }
}

}  // namespace fettle::kernels
