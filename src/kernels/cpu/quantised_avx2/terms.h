// Weights for products of bytes by vpmaddubsw, which adds two products in 16 bits and saturates. A
// term is four weights of an output channel that meet four bytes of x, side by side: two sums of
// two products. Terms of a channel are added up in 16 bits, in any order, as long as in each of the
// two sums the positive weights come to 128 at most and the negative ones to -128: no sum of u8
// times such weights leaves [-32640, 32640]. Weights beyond that are split over several terms.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/quantised/pack.h"

namespace fettle::kernels {

/// Output channels whose lists have one shape: as many terms, in sums of the same lengths.
inline constexpr int kTermChannels = 16;
/// The lengths of sums, longest first.
inline constexpr int kSumLengths[] = {6, 4, 3, 2, 1};

/// Where steps (of four bytes of depth) are cut: a block's rows of x stay in the first-level cache,
/// and a step in it fits into a byte.
struct TermBlocks {
  int64_t steps = 0, count = 0;  // of all
  explicit TermBlocks(const QuantLayout& layout);
  int64_t Begin(int64_t block) const { return block * steps / count; }
};

/// The lists of a panel in one block.
struct TermLists {
  const uint16_t* counts = nullptr;  // of the sums of each length
  int64_t terms = 0;                 // of each channel
  const int32_t* weights = nullptr;  // [channel][term], four bytes each
  const uint8_t* steps = nullptr;    // likewise, in the block
};

/// The lists in a blob, which MakeQuantPack packs for a layout of terms.
class TermTable {
 public:
  TermTable(const QuantLayout& layout, const std::byte* blob)
      : blocks_(layout), blob_(blob + layout.terms_offset()) {}
  const TermBlocks& blocks() const { return blocks_; }
  /// `panel` counts over all groups.
  TermLists At(int64_t panel, int64_t block) const;

 private:
  TermBlocks blocks_;
  const std::byte* blob_;
};

/// Bytes that the lists take at most.
int64_t TermBytes(const QuantLayout& layout, const QuantConstants& constants);
/// Writes them and the sum of each column's weights less its zero point.
void PackTerms(const QuantLayout& layout, const QuantConstants& constants, std::byte* blob);

/// What a step of a typical panel costs, in terms: below 1.7 less than widened products take.
double TermCost(const QuantLayout& layout, const QuantConstants& constants);

}  // namespace fettle::kernels
