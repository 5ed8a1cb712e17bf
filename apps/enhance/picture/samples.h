// One plane of a frame, and its samples as floats and back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "av/av.h"

namespace fettle::enhance {

/// Samples of 8 bits in bytes, of more in native words, rows `stride` bytes apart. Not owned.
struct Plane {
  uint8_t* data = nullptr;
  ptrdiff_t stride = 0;
  int width = 0, height = 0, depth = 8;

  template <typename Sample>
  Sample* row(int y) const {
    return reinterpret_cast<Sample*>(data + y * stride);
  }
};

/// A plane of a planar YUV frame (0: luma, 3: alpha), which must live as long.
Plane PlaneOf(const AVFrame& frame, int index);
int PlaneCount(const AVFrame& frame);

/// What 1.0 is: 255 in 8 bits, and the same light in more.
inline float WhiteOf(int depth) { return static_cast<float>(255 << (depth - 8)); }

/// Rows [y, y + count) of the plane as floats, 1.0 for WhiteOf, row after row.
void ReadRows(const Plane& plane, int y, int count, float* values);
/// The reverse, rounded and clamped to what the depth holds. Returns the sum of the values, which
/// is not finite where one of them is not.
double WriteRows(const float* values, int y, int count, const Plane& plane);
/// The mean of all samples, 1.0 for WhiteOf.
double MeanOf(const Plane& plane);

/// `visit(row pointer of the plane's sample type)` is left to templates: this picks the type.
template <typename Do>
void ForSampleType(int depth, Do&& run) {
  if (depth > 8) {
    run(uint16_t{});
  } else {
    run(uint8_t{});
  }
}

}  // namespace fettle::enhance
