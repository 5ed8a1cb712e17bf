// The inner loop of products of bits: differing bits of pixels and of eight outputs, counted.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Outputs of a panel: weights lie [panel][tap][word][kBitOutputs].
inline constexpr int kBitOutputs = 8;
inline constexpr int kMaxBitPixels = 8;

/// sums[p * kBitOutputs + o] = the bits in which the words behind rows[t * pixels + p] and those of
/// `weights` differ, over all taps. One panel; fewer than 2^31 bits. Tiles follow each other: their
/// rows by taps * pixels, their sums by pixels * kBitOutputs.
struct BitTileArgs {
  const uint64_t* const* rows = nullptr;
  const uint64_t* weights = nullptr;  // 64-byte aligned
  int64_t taps = 0, words = 0, tiles = 1;
  int32_t* sums = nullptr;  // 64-byte aligned
};

/// Counts for tiles of `pixels` pixels, and of one.
struct BitTile {
  int pixels = 1;
  void (*whole)(const BitTileArgs&) = nullptr;
  void (*single)(const BitTileArgs&) = nullptr;
};

/// The best that the machine has: vpopcntq of AVX-512, elsewhere bytes counted by Highway, which
/// are summed before they overflow; popcount of 64 bits where there are no vectors.
BitTile ChooseBitTile();

/// `whole` is null where the build's target has no AVX-512 VPOPCNTDQ.
BitTile BitTileAvx512Vpopcntdq();

}  // namespace fettle::kernels
