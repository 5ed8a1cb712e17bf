// Differing bits by tables: four bits of two outputs choose one, four bits of a pixel its entry.
#pragma once

#include <cstdint>

#include "kernels/cpu/binary/tile.h"

namespace fettle::kernels {

/// Outputs that one entry of a table counts for, and nibbles of a word.
inline constexpr int kTableOutputs = 2, kTablePairs = kBitOutputs / kTableOutputs, kNibbles = 16;

/// Pixels that one vector of bytes has here, a divisor of 64; 0 where there are no vectors.
int TablePixels();

/// sums[p * stride + o] = the differing bits of pixel p and output o of a panel.
struct TableArgs {
  int64_t pixels = 0;                // a multiple of TablePixels()
  int64_t count = 0;                 // words
  const uint8_t* nibbles = nullptr;  // aligned to TablePixels() bytes
  const uint8_t* pairs = nullptr;
  int32_t* sums = nullptr;
  int64_t stride = kBitOutputs;
};

/// Four bits of each of args.pixels pixels, a byte each: nibbles[(i * 16 + n) * pixels + p] are
/// bits 4n to 4n + 3 of the word bases[p][steps[i]].
void SplitNibbles(const uint64_t* const* bases, const int64_t* steps, const TableArgs& args,
                  uint8_t* nibbles);

/// The weights of a panel as CountByTables takes them: [count][kBitOutputs] words become
/// [count * 16][kBitOutputs / 2] bytes, bits of the second output of a pair above those of the
/// first.
void PairNibbles(const uint64_t* words, int64_t count, uint8_t* pairs);

/// One look-up gives 4 bits of two outputs for all pixels: counts of both fit one byte for three
/// steps, and their totals mod 256 for 63 (sources: T-MAC's look-ups, packed two to an entry).
void CountByTables(const TableArgs& args);

}  // namespace fettle::kernels
