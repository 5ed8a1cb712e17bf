// The rows of matrix tiles where each tile is a run of pixels of one line of the output: they lie
// evenly in the input, or in a copy of it with its padding, so that no pointer per row is needed.
#pragma once

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/quantised/tile_block.h"
#include "kernels/cpu/shuffle/stacked_lines.h"

namespace fettle::kernels {

/// Rows of the tiles that the pixels of `g` are cut into: such that whole tiles make a line of the
/// output, where that wastes little of them; else as many as a tile holds, or fewer where as many
/// tiles do.
int TileRowsOf(const ConvGeometry& g);

/// Kernel rows that fill a chunk of depth together where the input has few channels; 1: each has
/// its own. The copy of the input then holds as many of its lines in each line.
int64_t StackedLinesOf(const ConvGeometry& g, const TapPlan& taps);

/// Immutable. The input is channels-last.
class TileLines {
 public:
  TileLines(const ConvGeometry& g, const TapPlan& taps, int tile_rows, int64_t stacked);

  /// Whether most tiles lie within a line.
  static bool Fit(const ConvGeometry& g, int tile_rows);
  /// Whether each whole one does.
  static bool FitAll(const ConvGeometry& g, int tile_rows);

  /// Of the copy with its padding; 0 where the input is read as it lies.
  int64_t padded_bytes() const { return pads_ ? images_ * image_bytes() + 2 * kTileDepth : 0; }
  /// Makes that copy, padded with `zero`.
  void Pad(CpuStream& stream, const std::byte* x, int32_t zero, std::byte* padded) const;

  /// The tile of `rows` output pixels from `pixel` on in each tap, `offset` bytes into each: of the
  /// input or its copy. A tile of fewer rows than tiles have, or of more than one line, is copied
  /// to `copies`, `chunks` per tap.
  void Read(const std::byte* from, PixelRange pixels, int64_t offset, int64_t chunks,
            std::byte* copies, TileRows* out) const;

 private:
  void PadLine(const std::byte* x, int32_t zero, int64_t line, std::byte* to) const;
  void StackLine(const std::byte* x, int32_t zero, int64_t line, std::byte* to) const;
  /// Whether a tap of an output pixel begins in line `h` of an image.
  bool IsRead(int64_t h) const;
  /// A line of the input, in padding counted from 0; null outside of it.
  const std::byte* InputLine(const std::byte* x, int64_t image, int64_t d, int64_t h) const;

  int64_t image_bytes() const { return extent_[0] * extent_[1] * line_bytes(); }
  int64_t line_bytes() const { return extent_[2] * pixel_bytes_; }
  /// Of the first byte that the first tap reads for an output pixel.
  int64_t OffsetOf(int64_t pixel) const;

  ConvGeometry g_;
  int tile_rows_;
  int64_t stacked_;   // lines of the input in each line that is read
  StackLines stack_;  // null where that is one
  StackedOrder order_;
  int64_t pixel_bytes_;  // of all of them
  int64_t images_;
  bool pads_;
  std::array<int64_t, 3> extent_;  // of an image as it is read
  std::vector<int64_t> taps_;      // their offsets
};

}  // namespace fettle::kernels
