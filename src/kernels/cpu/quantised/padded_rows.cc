#include "kernels/cpu/quantised/padded_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised/rows.h"

namespace fettle::kernels {

PaddedRows::PaddedRows(const ConvGeometry& g, const TapPlan& taps, bool flips)
    : g_(g), flips_(flips), copies_(flips), images_(g.batch) {
  for (int axis = 0; axis < 3; ++axis) {
    extent_[axis] =
        (g.out[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1;
    copies_ = copies_ || g.pad[axis] > 0 || extent_[axis] > g.in[axis];
  }
  if (!copies_) extent_ = {g.in[0], g.in[1], g.in[2]};
  for (int64_t d = 0; d < g.kernel[0]; ++d) {
    for (int64_t h = 0; h < g.kernel[1]; ++h) {
      const int64_t line = d * g.dilation[0] * extent_[1] + h * g.dilation[1];
      for (int64_t w = 0; w < (taps.rows ? 1 : g.kernel[2]); ++w)
        tap_offsets_.push_back(line * line_bytes() + w * g.dilation[2] * g.ic);
    }
  }
}

bool PaddedRows::Fit(const ConvGeometry& g) {
  return std::all_of(g.pad.begin(), g.pad.end(), [](int64_t pad) { return pad >= 0; });
}

void PaddedRows::CopyLine(const uint8_t* x, uint8_t zero, int64_t line, uint8_t* to) const {
  const int64_t h = line % extent_[1] - g_.pad[1];
  const int64_t d = line / extent_[1] % extent_[0] - g_.pad[0];
  const int64_t image = line / extent_[1] / extent_[0];
  if (d < 0 || d >= g_.in[0] || h < 0 || h >= g_.in[1]) {
    std::memset(to, zero, line_bytes());
    return;
  }
  const int64_t begin = std::min(g_.pad[2], extent_[2]) * g_.ic;
  const int64_t end = std::min(g_.pad[2] + g_.in[2], extent_[2]) * g_.ic;
  const uint8_t* from = x + ((image * g_.in[0] + d) * g_.in[1] + h) * g_.in[2] * g_.ic;
  std::memset(to, zero, begin);
  if (flips_) {
    FlipBytes(from, end - begin, to + begin);
  } else {
    std::memcpy(to + begin, from, end - begin);
  }
  std::memset(to + end, zero, line_bytes() - end);
}

void PaddedRows::Copy(CpuStream& stream, const uint8_t* x, uint8_t zero, uint8_t* copy) const {
  constexpr int64_t kTaskBytes = 32 * 1024;
  const int64_t lines = images_ * extent_[0] * extent_[1];
  const int64_t per_task = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(line_bytes(), 1));
  stream.ParallelFor(CeilDiv(lines, per_task), [&](int64_t task, int) {
    const int64_t end = std::min((task + 1) * per_task, lines);
    for (int64_t line = task * per_task; line < end; ++line)
      CopyLine(x, zero, line, copy + line * line_bytes());
  });
}

void PaddedRows::Find(const uint8_t* from, PixelRange pixels, const uint8_t** out) const {
  const int64_t step = g_.stride[2] * g_.ic, end = pixels.begin + pixels.rows;
  for (int64_t pixel = pixels.begin; pixel < end;) {
    const int64_t w = pixel % g_.out[2], line = pixel / g_.out[2];
    const int64_t h = line % g_.out[1] * g_.stride[1];
    const int64_t d = line / g_.out[1] % g_.out[0] * g_.stride[0];
    const int64_t image = line / g_.out[1] / g_.out[0];
    const uint8_t* at =
        from + image * image_bytes() + (d * extent_[1] + h) * line_bytes() + w * step;
    const int64_t count = std::min(g_.out[2] - w, end - pixel);
    for (int64_t i = 0; i < count; ++i, at += step) out[i] = at;
    out += count;
    pixel += count;
  }
}

}  // namespace fettle::kernels
