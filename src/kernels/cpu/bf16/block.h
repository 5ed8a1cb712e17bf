// Products of bf16 with f32 sums: blocks of up to two tiles of rows and one panel of columns, by
// matrix tiles or by vectors. Both read the same packed operands and take subnormal factors for
// zero.
#pragma once

#include <cstdint>
#include <limits>

namespace fettle::kernels {

/// Columns of a panel.
inline constexpr int kBf16Columns = 32;
/// Depth of a chunk: packed rows and panels are padded to whole chunks.
inline constexpr int64_t kBf16Depth = 32;

/// Tiles follow each other in `a`; the last one may be short, and what lies in its other rows is
/// anything.
struct Bf16BlockArgs {
  const uint16_t* a = nullptr;  // [tile][chunk][tile_rows][kBf16Depth]
  int64_t rows = 0;             // 1 .. 2 * tile_rows
  int tile_rows = 0;
  int64_t chunks = 0;
  const uint16_t* b = nullptr;  // [chunk][kBf16Depth / 2][kBf16Columns][2]
  const float* bias = nullptr;  // of kBf16Columns columns
  int64_t columns = 0;          // 1 .. kBf16Columns
  float* c = nullptr;
  int64_t c_stride = 0;
  /// C = max(low, min(high, A * B + bias)); NaN passes.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  /// `b` is read for the first time: from memory, a way ahead of its use.
  bool b_is_far = false;
};

/// One way to compute blocks.
struct Bf16Blocks {
  int most_rows = 0;  // of a tile
  /// AmxTiles has to hold BlockTiles(tile_rows).
  bool uses_tiles = false;
  void (*run)(const Bf16BlockArgs& args) = nullptr;
};

/// By tiles, only where GetAmxSets() has bf16; by vectors, only where CpuInfo has avx512_bf16.
const Bf16Blocks& Bf16BlocksAmx();
const Bf16Blocks& Bf16BlocksAvx512();

/// Rows of f32 to be packed: `at`, or, where that is null, rows of one tap `stride` apart.
struct FloatRows {
  const float* const* at = nullptr;  // [tap][row]
  const float* first = nullptr;
  int64_t stride = 0;
  int64_t rows = 0, taps = 1;
  int64_t depth = 0;   // of a tap
  int64_t offset = 0;  // of the first element that counts, from each

  const float* Row(int64_t tap, int64_t r) const {
    return (at == nullptr ? first + r * stride : at[tap * rows + r]) + offset;
  }
};

/// Rounds a tile's rows to the nearest bf16, all taps side by side, padded with zeros to whole
/// chunks: [chunk][tile_rows][kBf16Depth]. Only where CpuInfo has avx512_bf16.
void PackBf16Rows(const FloatRows& rows, int tile_rows, uint16_t* out);

}  // namespace fettle::kernels
