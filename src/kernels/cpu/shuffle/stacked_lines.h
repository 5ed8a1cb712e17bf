// Lines of pixels of few bytes, side by side: what several rows of a convolution's kernel read of
// them then follows each other in memory.
#pragma once

#include <cstdint>

namespace fettle::kernels {

inline constexpr int64_t kMostStackedLines = 8;
/// Bytes of a pixel of all lines together.
inline constexpr int64_t kMostStackedBytes = 32;

/// Where the bytes of a vector of stacked pixels come from. Immutable.
struct StackedOrder {
  /// count * pixel_bytes <= kMostStackedBytes, count <= kMostStackedLines.
  StackedOrder(int64_t count, int64_t pixel_bytes);

  int64_t count, pixel_bytes;  // lines, and bytes of a pixel in each
  int64_t pixels;              // of a vector
  uint8_t places[64] = {};     // of each byte in its line
  /// The bytes of each line.
  uint64_t of_line[kMostStackedLines] = {};
};

struct StackedLinesArgs {
  /// Null: a line of `zero`. Others have 64 readable bytes behind them.
  const uint8_t* lines[kMostStackedLines] = {};
  int64_t pixels = 0;
  uint8_t zero = 0;
  uint8_t* out = nullptr;  // [pixels][line][pixel_bytes]; no other byte is written
};
using StackLines = void (*)(const StackedOrder& order, const StackedLinesArgs& args);

/// By byte permutations of AVX-512 VBMI; null where the machine or the build has none.
StackLines ChooseStackLines();

/// Null where the build's target has no AVX-512 VBMI.
StackLines StackLinesAvx512Vbmi();

}  // namespace fettle::kernels
