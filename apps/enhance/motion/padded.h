// Planes with room around them, so that what a vector points at beyond a border can be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "picture/samples.h"

namespace fettle::enhance {

/// Samples beyond a border are those on it.
template <typename Sample>
struct Padded {
  static constexpr int kPad = 32;
  int width = 0, height = 0;
  ptrdiff_t stride = 0;
  std::vector<Sample> samples;

  void Resize(int w, int h) {
    width = w;
    height = h;
    stride = w + 2 * kPad;
    samples.resize(static_cast<size_t>(stride) * static_cast<size_t>(h + 2 * kPad));
  }
  Sample* at(int x, int y) { return samples.data() + (y + kPad) * stride + x + kPad; }
  const Sample* at(int x, int y) const { return samples.data() + (y + kPad) * stride + x + kPad; }
  /// Fills what lies around the picture.
  void Extend() {
    for (int y = 0; y < height; ++y) {
      std::fill_n(at(-kPad, y), kPad, *at(0, y));
      std::fill_n(at(width, y), kPad, *at(width - 1, y));
    }
    for (int y = 1; y <= kPad; ++y) {
      std::copy_n(at(-kPad, 0), stride, at(-kPad, -y));
      std::copy_n(at(-kPad, height - 1), stride, at(-kPad, height - 1 + y));
    }
  }
};

}  // namespace fettle::enhance
