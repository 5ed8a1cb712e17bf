// Rows of a convolution of channels-last bytes as one pointer each and offsets of the taps, in the
// input or in a copy of it with its padding.
#pragma once

#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/taps.h"

namespace fettle::kernels {

/// Immutable.
class PaddedRows {
 public:
  /// `taps` says whether a tap is a pixel or a row of the kernel. `flips`: the copy has bytes plus
  /// 128, and is made even where nothing is padded.
  PaddedRows(const ConvGeometry& g, const TapPlan& taps, bool flips);
  /// Whether no padding is negative.
  static bool Fit(const ConvGeometry& g);

  /// Of the copy; 0 where the input is read as it lies.
  int64_t copy_bytes() const { return copies_ ? images_ * image_bytes() : 0; }
  /// Makes the copy of `x`, padded with `zero`.
  void Copy(CpuStream& stream, const uint8_t* x, uint8_t zero, uint8_t* copy) const;

  /// Where each output pixel's rows begin in `from`, the input or its copy; tap_offsets() bytes
  /// from there on each tap lies, of all groups.
  void Find(const uint8_t* from, PixelRange pixels, const uint8_t** out) const;
  std::span<const int64_t> tap_offsets() const { return tap_offsets_; }

 private:
  void CopyLine(const uint8_t* x, uint8_t zero, int64_t line, uint8_t* to) const;
  int64_t line_bytes() const { return extent_[2] * g_.ic; }
  int64_t image_bytes() const { return extent_[0] * extent_[1] * line_bytes(); }

  ConvGeometry g_;
  bool flips_, copies_;
  int64_t images_;
  std::array<int64_t, 3> extent_;  // of an image as it is read
  std::vector<int64_t> tap_offsets_;
};

}  // namespace fettle::kernels
