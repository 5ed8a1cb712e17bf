// How the taps of a convolution become rows of a product: the pointers by which micro-kernels read
// its input.
#pragma once

#include <cstdint>

#include "kernels/cpu/conv/pixels.h"
#include "kernels/match/conv.h"

namespace fettle::kernels {

/// How the taps of a convolution become depth of a product: for each block of the input's channels
/// the taps of the kernel.
struct TapPlan {
  PixelLayout in;
  /// True: a tap is a whole kernel row, kernel[2] pixels side by side (few channels). False: a tap
  /// is one pixel. Of one block of channels.
  bool rows = false;
  int64_t taps = 1;
  int64_t depth = 0;  // elements per tap, of all groups
  int64_t copies_per_row =
      0;  // with `rows`: output pixels per output row whose taps leave the input
};
/// The second form is for an input that is channels-last.
TapPlan PlanTaps(const ConvGeometry& geometry, const PixelLayout& in, int64_t element_bytes = 4);
TapPlan PlanTaps(const ConvGeometry& geometry);

/// Output pixels [begin, begin + rows) of the flattened (batch, depth, height, width) order.
struct PixelRange {
  int64_t begin = 0;
  int64_t rows = 0;
};

/// Elements of scratch that FillTapPointers may need for `rows` pixels.
int64_t TapCopyElements(const ConvGeometry& geometry, const TapPlan& plan, int64_t rows);

/// Writes the row pointers of `range` in tiles of `mr` rows, [tile][tap][row], as RunBlock reads
/// them. Taps in the padding point to `zeros` (plan.depth elements); partly outside ones to copies
/// in `scratch`. `padding` fills what a copy lacks.
template <typename T>
void FillTapPointers(const ConvGeometry& geometry, const TapPlan& plan, const T* x, const T* zeros,
                     T padding, PixelRange range, int mr, T* scratch, const T** out);

extern template void FillTapPointers<float>(const ConvGeometry&, const TapPlan&, const float*,
                                            const float*, float, PixelRange, int, float*,
                                            const float**);
extern template void FillTapPointers<uint8_t>(const ConvGeometry&, const TapPlan&, const uint8_t*,
                                              const uint8_t*, uint8_t, PixelRange, int, uint8_t*,
                                              const uint8_t**);

}  // namespace fettle::kernels
