// The inner loop of products of bits: differing bits of pixels and of eight outputs, counted.
#pragma once

#include <cstdint>
#include <span>

namespace fettle::kernels {

/// Outputs of a panel: weights lie [panel][tap][word][kBitOutputs].
inline constexpr int kBitOutputs = 8;
inline constexpr int kMaxBitPixels = 8;

/// Which ends of a line have a tap outside of the image that no other pixel of it has there.
enum BitEnds : int32_t { kNoEnds = 0, kFirstEnd = 1, kLastEnd = 2, kBothEnds = 3 };

/// Tiles of as many neighbouring pixels, up to kMaxBitPixels, over the lines [line, line + lines)
/// of the filter: those before and behind lie outside of the image for each pixel. Of each line of
/// the filter, the first pixel of a tile leaves out the first tap, and the last one the last, where
/// `ends` has them.
struct BitSpan {
  int32_t first = 0;  // of a task's pixels
  int32_t pixels = 0, tiles = 0;
  int32_t line = 0, lines = 0;
  BitEnds ends = kNoEnds;
};

/// sums[p * stride + o] = the bits in which the words bases[p][steps[i]] and those of `weights`,
/// [i][kBitOutputs], differ, over all `count` of them. One panel; fewer than 2^31 bits. Tiles
/// follow each other, in spans where the BitTile takes them.
struct BitTileArgs {
  const uint64_t* const* bases = nullptr;
  const int64_t* steps = nullptr;
  const uint64_t* weights = nullptr;  // 64-byte aligned
  int64_t count = 0, tiles = 1;
  std::span<const BitSpan> spans;  // of as many tiles together
  /// Where there are spans, taps lie by columns of the filter, a tap of each line: steps of one of
  /// them, and how many columns and lines there are.
  int64_t tap_steps = 0, columns = 1, lines = 1;
  int32_t* sums = nullptr;       // 32-byte aligned
  int64_t stride = kBitOutputs;  // a multiple of it
  /// The weights that the next call takes, as many: tiles ask for them, a share each. Or null.
  const uint64_t* next = nullptr;
  /// What is read beside the sums once they are there, a row of `beside_stride` floats for each
  /// pixel: tiles ask for a line of each of their rows. Or null.
  const float* beside = nullptr;
  int64_t beside_stride = 0;
};

/// Counts for tiles of `pixels` pixels, and of one; or for spans. The pairs, which some have, take
/// two panels at once: steps are in halves of words, and weights lie [i][2 * kBitOutputs] of 32
/// bits.
struct BitTile {
  int pixels = 1;
  bool counts_words = false;  // vectors count bits of whole words
  bool takes_spans = false;   // `whole` and `pair` do; there is no `single`
  /// bases[p] is a row of the words of all steps, side by side, and weights of each two steps lie
  /// [kBitOutputs][2], of a last one [kBitOutputs].
  bool gathers = false;
  void (*whole)(const BitTileArgs&) = nullptr;
  void (*single)(const BitTileArgs&) = nullptr;
  void (*pair)(const BitTileArgs&) = nullptr;
};

/// The best that the machine has: vpopcntq of AVX-512, cnt of NEON, elsewhere bytes counted by
/// Highway, which are summed before they overflow; popcount of 64 bits where there are no vectors.
BitTile ChooseBitTile();

/// Whether this processor counts bits of whole AVX-512 vectors.
bool HasVpopcntdq();
/// `whole` is null where the build's target has no AVX-512 VPOPCNTDQ.
BitTile BitTileAvx512Vpopcntdq();

/// `whole` is null where the build's target has no NEON of 64 bits.
BitTile BitTileNeon();

}  // namespace fettle::kernels
