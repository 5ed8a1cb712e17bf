// Which words a product of bits reads for its pixels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/binary/op.h"

namespace fettle::kernels {

/// A BinaryProduct over up to three spatial axes. Immutable.
class BitGeometry {
 public:
  /// Fails with kUnsupported over three spatial axes.
  static Result<BitGeometry> Make(const ops::BinaryProduct& product);

  int64_t pixels() const { return pixels_; }
  int64_t taps() const { return static_cast<int64_t>(offsets_.size()); }

  /// Where an output pixel lies.
  struct Place {
    int64_t image = 0;
    std::array<int64_t, 3> at{};
  };
  Place PlaceOf(int64_t pixel) const;
  /// Goes to the next pixel.
  void Advance(Place& place) const;

  /// Sets rows[t * stride] to the words that tap `t` of an output pixel reads, or to `beside` where
  /// it lies outside of the image. Returns how many lie inside.
  int64_t FillRows(const uint64_t* x, const uint64_t* beside, const Place& place, int64_t stride,
                   const uint64_t** rows) const;

 private:
  std::array<int64_t, 3> in_{1, 1, 1}, out_{1, 1, 1}, kernel_{1, 1, 1};
  std::array<int64_t, 3> stride_{1, 1, 1}, dilation_{1, 1, 1}, pad_{0, 0, 0};
  int64_t row_words_ = 0;  // between neighbouring pixels
  int64_t pixels_ = 0;
  std::vector<int64_t> offsets_;  // words from a pixel's first tap
};

}  // namespace fettle::kernels
