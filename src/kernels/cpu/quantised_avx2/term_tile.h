// Tiles of products by pairs of steps, four pixels and 16 output channels at a time, and by lists
// of terms: pixels along vectors, an output channel at a time. AVX2.
#pragma once

#include <cstdint>

#include "kernels/cpu/quantised_avx2/terms.h"

namespace fettle::kernels {

/// Pixels of a vector, and the vectors of a tile.
inline constexpr int kTermLanes = 8, kMostTermVectors = 4;
inline constexpr int kTermPixels = kTermLanes * kMostTermVectors;

/// Rows of x, each by a pointer and what each tap adds to it.
struct TermRows {
  const uint8_t* const* rows = nullptr;
  int64_t count = 0;  // within kTermPixels
  const int64_t* tap_offsets = nullptr;
  int64_t taps = 0, depth = 0;  // bytes of a tap; up to three behind them are read
  uint8_t flip = 0;             // 0x80: i8 become u8
};

/// Writes the rows as [step][pixel][4 bytes], a step for each four bytes of a tap, for `vectors`
/// vectors of pixels; pixels that there are not are like the last one. `out` is 32-byte aligned.
void InterleaveRows(const TermRows& rows, int vectors, uint8_t* out);

struct TermTileArgs {
  /// Interleaved. Where steps are odd in number, those of one more are read, and change nothing.
  const uint8_t* x = nullptr;
  int64_t rows = kTermPixels;  // pixels
  int64_t channels = kTermChannels;
  const TermTable* table = nullptr;
  int64_t panel = 0;              // counted over all groups
  const int32_t* init = nullptr;  // of each channel
  int32_t* sums = nullptr;  // [pixel][kTermChannels], 32-byte aligned; whole vectors of pixels
};
void RunTermTile(const TermTileArgs& args);

}  // namespace fettle::kernels
