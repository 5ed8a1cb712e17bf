// The windows of a convolution of bytes as columns of a product by its filters.
#pragma once

#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/quantised_matmul/panel.h"
#include "kernels/match/conv.h"

namespace fettle::kernels {

/// Immutable. Depth is that of a group: channel by channel, each tap of it. Columns are the pixels
/// of an image. Images are copied with their padding and, where windows lie several pixels apart,
/// with such pixels side by side: neighbouring windows read neighbouring bytes of each tap.
class ByteWindows {
 public:
  explicit ByteWindows(const ConvGeometry& g);
  /// Whether the copy is not much larger than the input: padding and strides may be anything.
  static bool Fit(const ConvGeometry& g);

  int64_t depth() const { return static_cast<int64_t>(taps_.size()); }
  /// Of the copy, with what is read behind it.
  int64_t copy_bytes() const;
  /// `zero` stands in the padding.
  void Copy(CpuStream& stream, const uint8_t* x, uint8_t zero, uint8_t* copy) const;
  /// A panel of `count` windows from `first` on, of group `batch`, image by image. `gathered` is
  /// room for kGathered bytes.
  void Pack(const uint8_t* copy, int64_t batch, int64_t first, int64_t count, const PanelForm& form,
            uint8_t* gathered, std::byte* panel) const;

  static constexpr int64_t kMostColumns = 32;  // of a panel
  static constexpr int64_t kChunk = 16, kDepths = 64;
  static constexpr int64_t kGathered = kDepths * kMostColumns + kChunk;

 private:
  /// Neighbouring windows of a line, `to` columns behind the first of a panel.
  struct Run {
    int64_t from, to, count;
  };
  int64_t Find(int64_t first, int64_t count, Run* runs) const;
  void CopyLine(const uint8_t* line, uint8_t zero, uint8_t* to) const;

  ConvGeometry g_;
  int64_t phases_, phase_bytes_;  // of a line
  int64_t planes_, lines_;        // of a channel's copy
  int64_t line_bytes_, channel_bytes_;
  std::vector<int64_t> taps_;  // what a depth adds to a column's place
};

}  // namespace fettle::kernels
