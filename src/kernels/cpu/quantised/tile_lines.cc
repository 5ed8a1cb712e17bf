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

int64_t StackedLinesOf(const ConvGeometry& g, const TapPlan& taps) {
  const bool is_image = g.IsImage() && g.dilation[1] == 1;
  if (!taps.rows || !is_image || ChooseStackLines() == nullptr) return 1;
  const int64_t row_bytes = g.kernel[2] * taps.in.block;
  const int64_t most = std::min(
      {kTileDepth / row_bytes, kMostStackedBytes / taps.in.block, kMostStackedLines, g.kernel[1]});
  // As few as make as few chunks.
  return most < 2 ? 1 : CeilDiv(g.kernel[1], CeilDiv(g.kernel[1], most));
}

bool TileLines::FitAll(const ConvGeometry& g, int tile_rows) {
  return Lines(g) == 1 || g.out[2] % tile_rows == 0;
}

bool TileLines::Fit(const ConvGeometry& g, int tile_rows) {
  return FitAll(g, tile_rows) || g.out[2] >= 3 * tile_rows;
}

TileLines::TileLines(const ConvGeometry& g, const TapPlan& taps, int tile_rows, int64_t stacked)
    : g_(g),
      tile_rows_(tile_rows),
      stacked_(stacked),
      stack_(stacked > 1 ? ChooseStackLines() : nullptr),
      order_(stacked, stacked > 1 ? taps.in.block : 1),
      pixel_bytes_(taps.in.block * stacked),
      images_(g.batch),
      pads_(ReadsPadding(g) || stacked > 1),
      extent_(g.in) {
  const int64_t down = CeilDiv(g.kernel[1], stacked);
  for (size_t axis = 0; pads_ && axis < 3; ++axis) extent_[axis] = ReadExtent(g, axis);
  if (stacked > 1) extent_[1] = (g.out[1] - 1) * g.stride[1] + (down - 1) * stacked + 1;
  // A tap is a pixel, or the pixels of whole rows of the kernel.
  const int64_t across = taps.rows ? 1 : g.kernel[2];
  for (int64_t d = 0; d < g.kernel[0]; ++d) {
    for (int64_t h = 0; h < down; ++h) {
      const int64_t line = d * g.dilation[0] * extent_[1] + h * stacked * g.dilation[1];
      for (int64_t w = 0; w < across; ++w)
        taps_.push_back((line * extent_[2] + w * g.dilation[2]) * pixel_bytes_);
    }
  }
}

bool TileLines::IsRead(int64_t h) const {
  for (int64_t from = h; from >= 0 && from > h - g_.kernel[1]; from -= stacked_) {
    if (from % g_.stride[1] == 0) return true;
  }
  return false;
}

const std::byte* TileLines::InputLine(const std::byte* x, int64_t image, int64_t d,
                                      int64_t h) const {
  d -= g_.pad[0];
  h -= g_.pad[1];
  if (d < 0 || d >= g_.in[0] || h < 0 || h >= g_.in[1]) return nullptr;
  return x + ((image * g_.in[0] + d) * g_.in[1] + h) * g_.in[2] * (pixel_bytes_ / stacked_);
}

void TileLines::PadLine(const std::byte* x, int32_t zero, int64_t line, std::byte* to) const {
  const std::byte* from = InputLine(x, line / extent_[1] / extent_[0],
                                    line / extent_[1] % extent_[0], line % extent_[1]);
  // Pixels of a line that are the input's.
  const int64_t before = std::min(g_.pad[2] * pixel_bytes_, line_bytes());
  const int64_t copied = std::min(g_.in[2] * pixel_bytes_, line_bytes() - before);
  if (from == nullptr || copied == 0) {
    std::memset(to, zero, line_bytes());
    return;
  }
  std::memset(to, zero, before);
  std::memcpy(to + before, from, copied);
  std::memset(to + before + copied, zero, line_bytes() - before - copied);
}

void TileLines::StackLine(const std::byte* x, int32_t zero, int64_t line, std::byte* to) const {
  const int64_t before = std::min(g_.pad[2], extent_[2]);
  StackedLinesArgs args{.pixels = std::min(g_.in[2], extent_[2] - before),
                        .zero = static_cast<uint8_t>(zero),
                        .out = reinterpret_cast<uint8_t*>(to + before * pixel_bytes_)};
  for (int64_t i = 0; i < stacked_; ++i) {
    args.lines[i] =
        reinterpret_cast<const uint8_t*>(InputLine(x, line / extent_[1], 0, line % extent_[1] + i));
  }
  stack_(order_, args);
  const int64_t end = before + args.pixels;
  std::memset(to, zero, before * pixel_bytes_);
  std::memset(to + end * pixel_bytes_, zero, (extent_[2] - end) * pixel_bytes_);
}

void TileLines::Pad(CpuStream& stream, const std::byte* x, int32_t zero, std::byte* padded) const {
  constexpr int64_t kTaskBytes = 32 * 1024;
  const int64_t lines = images_ * extent_[0] * extent_[1];
  const int64_t per_task = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(line_bytes(), 1));
  stream.ParallelFor(CeilDiv(lines, per_task), [&](int64_t task, int) {
    const int64_t end = std::min(lines, (task + 1) * per_task);
    for (int64_t line = task * per_task; line < end; ++line) {
      if (stacked_ == 1) {
        PadLine(x, zero, line, padded + line * line_bytes());
      } else if (IsRead(line % extent_[1])) {
        StackLine(x, zero, line, padded + line * line_bytes());
      }
    }
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
  const int64_t stride = g_.stride[2] * pixel_bytes_;
  const bool is_one_line = pixels.begin % g_.out[2] + pixels.rows <= g_.out[2];
  if (pixels.rows == tile_rows_ && is_one_line) {
    const std::byte* first = from + OffsetOf(pixels.begin) + offset;
    for (size_t t = 0; t < taps_.size(); ++t) out[t] = {first + taps_[t], stride, kTileDepth};
    return;
  }
  // Rows behind the last one may be nobody's memory.
  const int64_t tap_bytes = chunks * tile_rows_ * kTileDepth;
  for (int64_t r = 0; r < pixels.rows;) {
    const int64_t pixel = pixels.begin + r;
    const std::byte* row = from + OffsetOf(pixel) + offset;
    const int64_t end = std::min(pixels.rows, r + g_.out[2] - pixel % g_.out[2]);
    for (; r < end; ++r, row += stride) {
      for (size_t t = 0; t < taps_.size(); ++t) {
        std::byte* to = copies + static_cast<int64_t>(t) * tap_bytes + r * kTileDepth;
        for (int64_t c = 0; c < chunks; ++c)
          std::memcpy(to + c * tile_rows_ * kTileDepth, row + taps_[t] + c * kTileDepth,
                      kTileDepth);
      }
    }
  }
  for (size_t t = 0; t < taps_.size(); ++t, copies += tap_bytes)
    out[t] = {copies, kTileDepth, tile_rows_ * kTileDepth};
}

}  // namespace fettle::kernels
