#include "kernels/cpu/quantised/tile_block.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace fettle::kernels {
namespace {

constexpr int64_t kRowBytes = kBlockColumns * 4;  // of sums, and of a step of B

// Tiles are named by literals: 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 columns of B.
#define FETTLE_TILE_DOT(sum, a, b)      \
  if constexpr (kSignedA && kSignedB) { \
    _tile_dpbssd(sum, a, b);            \
  } else if constexpr (kSignedA) {      \
    _tile_dpbsud(sum, a, b);            \
  } else if constexpr (kSignedB) {      \
    _tile_dpbusd(sum, a, b);            \
  } else {                              \
    _tile_dpbuud(sum, a, b);            \
  }

/// The intrinsics for loads do not tell GCC 12 that they read memory.
void MemoryIsRead() { __asm__ volatile("" ::: "memory"); }

/// As much as a chunk has, three chunks on; panels follow each other.
void FetchAhead(const std::byte* b) {
  constexpr int64_t kChunkBytes = kTileSteps * kRowBytes;
#pragma GCC unroll 32
  for (int64_t i = 0; i < kChunkBytes; i += 64)
    _mm_prefetch(reinterpret_cast<const char*>(b) + 3 * kChunkBytes + i, _MM_HINT_T0);
}

template <bool kSignedA, bool kSignedB, bool kTwoRows, bool kTwoColumns>
void RunBlock(const TileBlockArgs& args) {
  MemoryIsRead();
  // All rows start from the same values: the stride is 0.
  _tile_loadd(0, args.init, 0);
  if constexpr (kTwoColumns) _tile_loadd(1, args.init + kTileColumns, 0);
  if constexpr (kTwoRows) _tile_loadd(2, args.init, 0);
  if constexpr (kTwoRows && kTwoColumns) _tile_loadd(3, args.init + kTileColumns, 0);
  const std::byte* b = args.b;
  for (int64_t t = 0; t < args.taps; ++t) {
    TileRows top = args.a[0][t];
    [[maybe_unused]] TileRows low;
    if constexpr (kTwoRows) low = args.a[1][t];
    for (int64_t c = 0; c < args.chunks; ++c) {
      _tile_loadd(4, top.first, top.stride);
      _tile_loadd(6, b, kRowBytes);
      FETTLE_TILE_DOT(0, 4, 6)
      if constexpr (kTwoColumns) {
        _tile_loadd(7, b + kTileColumns * 4, kRowBytes);
        FETTLE_TILE_DOT(1, 4, 7)
      }
      if constexpr (kTwoRows) {
        _tile_loadd(5, low.first, low.stride);
        FETTLE_TILE_DOT(2, 5, 6)
        if constexpr (kTwoColumns) {
          FETTLE_TILE_DOT(3, 5, 7)
        }
        low.first += low.step;
      }
      if (args.b_is_far) FetchAhead(b);
      top.first += top.step;
      b += kTileSteps * kRowBytes;
    }
  }
  [[maybe_unused]] int32_t* low_sums = args.sums + args.tile_rows * kBlockColumns;
  _tile_stored(0, args.sums, kRowBytes);
  if constexpr (kTwoColumns) _tile_stored(1, args.sums + kTileColumns, kRowBytes);
  if constexpr (kTwoRows) _tile_stored(2, low_sums, kRowBytes);
  if constexpr (kTwoRows && kTwoColumns) _tile_stored(3, low_sums + kTileColumns, kRowBytes);
  MemoryIsRead();
}

template <bool kSignedA, bool kSignedB>
void Run(const TileBlockArgs& args) {
  const bool two_rows = args.a[1] != nullptr;
  if (args.narrow) {
    (two_rows ? RunBlock<kSignedA, kSignedB, true, false>
              : RunBlock<kSignedA, kSignedB, false, false>)(args);
  } else {
    (two_rows ? RunBlock<kSignedA, kSignedB, true, true>
              : RunBlock<kSignedA, kSignedB, false, true>)(args);
  }
}

}  // namespace

TileBlock GetTileBlock(bool signed_a, bool signed_b) {
  if (signed_a) return signed_b ? Run<true, true> : Run<true, false>;
  return signed_b ? Run<false, true> : Run<false, false>;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
TileBlock GetTileBlock(bool, bool) { return nullptr; }
}  // namespace fettle::kernels
#endif
