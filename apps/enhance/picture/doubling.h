// Planes of twice the size by a Lanczos window of three samples to each side.
#pragma once

#include <vector>

#include "picture/samples.h"

namespace fettle::enhance {

/// Where output sample j lies between input samples: at j / 2 + shift. Samples that stand for the
/// middle of their area have -1/4; chroma that is `halvings` times halved and stands at the first
/// of its pixels has -1/4 / 2^halvings, and stands there again in the result.
struct Shift {
  double across = -0.25, down = -0.25;
};
Shift ShiftOf(const AVFrame& frame, int plane);

/// Fills `to`, whose extents are those of `from` doubled or one less, and whose depth is the same.
/// Samples beyond a border are those on it. Keeps rows between calls: one for each thread.
class Doubling {
 public:
  void Run(const Plane& from, const Plane& to, Shift shift);
  /// The same as floats, row after row, not rounded.
  void Run(const Plane& from, int width, int height, Shift shift, float* to);

 private:
  void FillRow(const Plane& from, int row, int width, Shift shift, float* to);

  std::vector<float> down_, rows_;
};

}  // namespace fettle::enhance
