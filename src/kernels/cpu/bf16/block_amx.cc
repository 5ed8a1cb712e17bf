#include <algorithm>

#include "kernels/cpu/bf16/block.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace fettle::kernels {
namespace {

constexpr int kTileColumns = kBf16Columns / 2;
constexpr int64_t kRowBytes = kBf16Columns * 4;  // of sums, and of two of depth of B
constexpr int64_t kChunk = kBf16Depth * kBf16Columns;
constexpr int kMostRows = 16;

/// The intrinsics for loads do not tell GCC 12 that they read memory.
void MemoryIsRead() { __asm__ volatile("" ::: "memory"); }

/// As much as a chunk has, three chunks on; panels follow each other.
void FetchAhead(const uint16_t* b) {
#pragma GCC unroll 32
  for (int64_t i = 0; i < kChunk; i += 32)
    _mm_prefetch(reinterpret_cast<const char*>(b + 3 * kChunk + i), _MM_HINT_T0);
}

void Store(const Bf16BlockArgs& args, const float* sums) {
  const __m512 low = _mm512_set1_ps(args.low), high = _mm512_set1_ps(args.high);
  const auto mask = static_cast<uint32_t>((uint64_t{1} << args.columns) - 1);
  const auto first = static_cast<__mmask16>(mask), second = static_cast<__mmask16>(mask >> 16);
  // Where an operand is NaN the instructions give the second one.
  const auto clamp = [&](__m512 sum) { return _mm512_max_ps(low, _mm512_min_ps(high, sum)); };
  float* c = args.c;
  for (int64_t r = 0; r < args.rows; ++r, sums += kBf16Columns, c += args.c_stride) {
    _mm512_mask_storeu_ps(c, first, clamp(_mm512_load_ps(sums)));
    if (second != 0)
      _mm512_mask_storeu_ps(c + kTileColumns, second, clamp(_mm512_load_ps(sums + kTileColumns)));
  }
}

// Tiles are named by literals: 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 columns of B.

/// All rows start from the bias: the stride is 0.
template <bool kTwoRows, bool kTwoColumns>
inline void LoadBias(const float* bias) {
  MemoryIsRead();
  _tile_loadd(0, bias, 0);
  if constexpr (kTwoColumns) _tile_loadd(1, bias + kTileColumns, 0);
  if constexpr (kTwoRows) _tile_loadd(2, bias, 0);
  if constexpr (kTwoRows && kTwoColumns) _tile_loadd(3, bias + kTileColumns, 0);
}

template <bool kTwoRows, bool kTwoColumns>
inline void StoreSums(const Bf16BlockArgs& args) {
  alignas(64) float sums[2 * kMostRows * kBf16Columns];
  [[maybe_unused]] float* low_sums = sums + args.tile_rows * kBf16Columns;
  _tile_stored(0, sums, kRowBytes);
  if constexpr (kTwoColumns) _tile_stored(1, sums + kTileColumns, kRowBytes);
  if constexpr (kTwoRows) _tile_stored(2, low_sums, kRowBytes);
  if constexpr (kTwoRows && kTwoColumns) _tile_stored(3, low_sums + kTileColumns, kRowBytes);
  // The intrinsics for stores do not tell GCC 12 what they write.
  __asm__ volatile("" : : "r"(sums) : "memory");
  Store(args, sums);
}

template <bool kTwoRows, bool kTwoColumns>
void RunBlock(const Bf16BlockArgs& args) {
  LoadBias<kTwoRows, kTwoColumns>(args.bias);
  const int64_t step = args.tile_rows * kBf16Depth;
  const uint16_t *top = args.a, *b = args.b;
  [[maybe_unused]] const uint16_t* low = top + args.chunks * step;
  for (int64_t chunk = 0; chunk < args.chunks; ++chunk) {
    // Rows pass by once a panel, which stays in the first-level cache if it fits: 1.3 times as
    // fast.
    _tile_stream_loadd(4, top, kBf16Depth * 2);
    _tile_loadd(6, b, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoColumns) {
      _tile_loadd(7, b + kBf16Columns, kRowBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      _tile_stream_loadd(5, low, kBf16Depth * 2);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoColumns) {
        _tile_dpbf16ps(3, 5, 7);
      }
      low += step;
    }
    if (args.b_is_far) FetchAhead(b);
    top += step;
    b += kChunk;
  }
  StoreSums<kTwoRows, kTwoColumns>(args);
}

void Run(const Bf16BlockArgs& args) {
  const bool two_rows = args.rows > args.tile_rows, two_columns = args.columns > kTileColumns;
  if (two_rows) {
    (two_columns ? RunBlock<true, true> : RunBlock<true, false>)(args);
  } else {
    (two_columns ? RunBlock<false, true> : RunBlock<false, false>)(args);
  }
}

}  // namespace

const Bf16Blocks& Bf16BlocksAmx() {
  static constexpr Bf16Blocks kBlocks{.most_rows = kMostRows, .uses_tiles = true, .run = Run};
  return kBlocks;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const Bf16Blocks& Bf16BlocksAmx() {
  static constexpr Bf16Blocks kNone;
  return kNone;
}
}  // namespace fettle::kernels
#endif
