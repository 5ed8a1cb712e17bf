#include "kernels/cpu/conv/taps.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// Below this many bytes of channels side by side a kernel row is read as one run: per-pixel runs
/// would be too short to amortise their pointers.
constexpr int64_t kFewBytes = 64;

/// Output pixels [begin, end) of one output row, inside one tile.
struct Piece {
  int64_t image, od, oh, ow;  // position of the first
  int64_t count;
};

/// Calls f(piece, tile, first row in tile, rows of tile) for each piece of the range.
template <typename F>
void ForEachPiece(const ConvGeometry& g, PixelRange range, int mr, const F& f) {
  const int64_t line = range.begin / g.out[2];
  Piece piece;
  piece.ow = range.begin % g.out[2];
  piece.oh = line % g.out[1];
  piece.od = line / g.out[1] % g.out[0];
  piece.image = line / g.out[1] / g.out[0];
  for (int64_t tile = 0; tile * mr < range.rows; ++tile) {
    const int64_t tile_rows = std::min<int64_t>(mr, range.rows - tile * mr);
    for (int64_t in_tile = 0; in_tile < tile_rows; in_tile += piece.count) {
      piece.count = std::min(tile_rows - in_tile, g.out[2] - piece.ow);
      f(piece, tile, in_tile, tile_rows);
      piece.ow += piece.count;
      if (piece.ow < g.out[2]) continue;
      piece.ow = 0;
      if (++piece.oh < g.out[1]) continue;
      piece.oh = 0;
      if (++piece.od < g.out[0]) continue;
      piece.od = 0;
      ++piece.image;
    }
  }
}

/// Of distances >= 0. Most strides are 1 or 2, and a division takes as long as a dozen pointers.
int64_t Over(int64_t distance, int64_t stride) {
  return stride == 1 ? distance : stride == 2 ? distance >> 1 : distance / stride;
}

/// The outputs of a piece whose taps [kw, kw + width) of the kernel's row lie inside of the input:
/// [begin, end).
struct Inside {
  int64_t begin, end;
};
Inside InsideOf(const ConvGeometry& g, const Piece& p, int64_t kw, int64_t width) {
  const int64_t iw = p.ow * g.stride[2] - g.pad[2] + kw * g.dilation[2];
  const int64_t last = g.in[2] - width - iw;  // how far the taps may move right
  if (p.count == 0 || last < 0) return {0, 0};
  const int64_t begin = iw >= 0 ? 0 : Over(-iw + g.stride[2] - 1, g.stride[2]);
  const int64_t end = std::min(p.count, Over(last, g.stride[2]) + 1);
  return {std::min(begin, end), end};
}

/// The input line of a kernel row (kd, kh) at an output position, in the first block of channels;
/// -1 outside of the input.
int64_t InputLine(const ConvGeometry& g, const PixelLayout& in, const Piece& p, int64_t kd,
                  int64_t kh) {
  const int64_t id = p.od * g.stride[0] - g.pad[0] + kd * g.dilation[0];
  const int64_t ih = p.oh * g.stride[1] - g.pad[1] + kh * g.dilation[1];
  if (id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1]) return -1;
  return in.Offset(p.image, (id * g.in[1] + ih) * g.in[2], 0);
}

template <typename T>
void FillPixels(const ConvGeometry& g, int64_t step, const T* line, const T* zeros, const Piece& p,
                int64_t kw, const T** out) {
  const Inside inside = line == nullptr ? Inside{0, 0} : InsideOf(g, p, kw, 1);
  std::fill_n(out, inside.begin, zeros);
  const int64_t first = p.ow * g.stride[2] - g.pad[2] + kw * g.dilation[2];
  for (int64_t i = inside.begin; i < inside.end; ++i)
    out[i] = line + (first + i * g.stride[2]) * step;
  std::fill(out + inside.end, out + p.count, zeros);
}

/// A kernel row that is partly outside, copied with padding to `scratch`.
template <typename T>
void CopyRun(const ConvGeometry& g, int64_t step, const T* line, T padding, int64_t iw,
             T* scratch) {
  const int64_t begin = std::clamp<int64_t>(-iw, 0, g.kernel[2]);
  const int64_t end = std::clamp<int64_t>(g.in[2] - iw, begin, g.kernel[2]);
  std::fill_n(scratch, begin * step, padding);
  std::copy_n(line + (iw + begin) * step, (end - begin) * step, scratch + begin * step);
  std::fill_n(scratch + end * step, (g.kernel[2] - end) * step, padding);
}

template <typename T>
void FillRuns(const ConvGeometry& g, int64_t step, const T* line, const T* zeros, T padding,
              const Piece& p, T*& scratch, const T** out) {
  if (line == nullptr) {
    std::fill_n(out, p.count, zeros);
    return;
  }
  const Inside inside = InsideOf(g, p, 0, g.kernel[2]);
  const int64_t first = p.ow * g.stride[2] - g.pad[2];
  const auto copy = [&](int64_t i) {
    CopyRun(g, step, line, padding, first + i * g.stride[2], scratch);
    out[i] = scratch;
    scratch += g.kernel[2] * step;
  };
  for (int64_t i = 0; i < inside.begin; ++i) copy(i);
  for (int64_t i = inside.begin; i < inside.end; ++i)
    out[i] = line + (first + i * g.stride[2]) * step;
  for (int64_t i = inside.end; i < p.count; ++i) copy(i);
}

}  // namespace

TapPlan PlanTaps(const ConvGeometry& g) {
  return PlanTaps(g, ChannelsLastPixels(g.ic, g.in[0] * g.in[1] * g.in[2]));
}

TapPlan PlanTaps(const ConvGeometry& g, const PixelLayout& in, int64_t element_bytes) {
  TapPlan plan;
  plan.in = in;
  plan.rows = g.groups == 1 && g.kernel[2] > 1 && g.dilation[2] == 1 &&
              in.block * element_bytes < kFewBytes;
  if (!plan.rows) {
    plan.taps = in.blocks() * g.taps();
    plan.depth = in.channels == 0 ? 0 : in.block;
    return plan;
  }
  plan.taps = in.blocks() * g.kernel[0] * g.kernel[1];
  plan.depth = in.channels == 0 ? 0 : g.kernel[2] * in.block;
  // All but those from the first that does not begin before the input to the last that ends in it.
  const int64_t begin = std::max<int64_t>((g.pad[2] + g.stride[2] - 1) / g.stride[2], 0);
  const int64_t room = g.in[2] + g.pad[2] - g.kernel[2];
  const int64_t end = room < 0 ? 0 : std::min(room / g.stride[2] + 1, g.out[2]);
  plan.copies_per_row = g.out[2] - std::max<int64_t>(end - begin, 0);
  return plan;
}

int64_t TapCopyElements(const ConvGeometry& g, const TapPlan& plan, int64_t rows) {
  const int64_t lines = rows / g.out[2] + 2;
  return std::min(rows, lines * plan.copies_per_row) * plan.taps * plan.depth;
}

template <typename T>
void FillTapPointers(const ConvGeometry& g, const TapPlan& plan, const T* x, const T* zeros,
                     T padding, PixelRange range, int mr, T* scratch, const T** out) {
  ForEachPiece(g, range, mr, [&](const Piece& p, int64_t tile, int64_t in_tile, int64_t tile_rows) {
    const T** at = out + tile * mr * plan.taps + in_tile;
    const int64_t step = plan.in.block;
    const auto fill_row = [&](const T* line) {
      if (plan.rows) {
        FillRuns(g, step, line, zeros, padding, p, scratch, at);
        at += tile_rows;
        return;
      }
      for (int64_t kw = 0; kw < g.kernel[2]; ++kw, at += tile_rows)
        FillPixels(g, step, line, zeros, p, kw, at);
    };
    for (int64_t block = 0; block < plan.in.blocks(); ++block) {
      for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
        for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
          const int64_t offset = InputLine(g, plan.in, p, kd, kh);
          fill_row(offset < 0 ? nullptr : x + block * plan.in.plane + offset);
        }
      }
    }
  });
}

template void FillTapPointers<float>(const ConvGeometry&, const TapPlan&, const float*,
                                     const float*, float, PixelRange, int, float*, const float**);
template void FillTapPointers<uint8_t>(const ConvGeometry&, const TapPlan&, const uint8_t*,
                                       const uint8_t*, uint8_t, PixelRange, int, uint8_t*,
                                       const uint8_t**);

}  // namespace fettle::kernels
