// Weights for products of bytes by vpmaddubsw, which adds two products in 16 bits and saturates. It
// cannot where in such a sum the positive weights come to 128 at most and the negative ones to
// -128: no sum of u8 times such weights leaves [-32640, 32640]. Most of the weights are bytes that
// keep to that for two steps at a time (paired_steps.h). What they lack is lists of terms: a term
// is four weights of an output channel that meet four bytes of x, side by side, so two sums of two
// products. Terms of a channel are added up in 16 bits, in any order, within the same bound;
// weights beyond it are split over several terms.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/quantised/pack.h"
#include "kernels/cpu/quantised_avx2/paired_steps.h"

namespace fettle::kernels {

/// Output channels of a panel.
inline constexpr int kTermChannels = 16;
/// Bytes of a panel's weights for two steps.
inline constexpr int64_t kPairBytes = kTermChannels * kPairedWeights;
/// The lengths of sums, longest first.
inline constexpr int kSumLengths[] = {6, 4, 3, 2, 1};

/// Where steps (of four bytes of depth) are cut, in pairs: a block's rows of x stay in the
/// first-level cache, and a step in it fits into a byte.
struct TermBlocks {
  int64_t pairs = 0, count = 0;  // of all
  explicit TermBlocks(const QuantLayout& layout);
  /// The first pair of a block.
  int64_t Begin(int64_t block) const { return block * pairs / count; }
};

/// The bytes of a panel in one block, and its lists: sums of several terms, longest first.
struct TermLists {
  const int8_t* bytes = nullptr;      // [pair][step][channel][4]
  const uint16_t* counts = nullptr;   // of the sums of each length
  const int32_t* weights = nullptr;   // of each term, four bytes
  const uint8_t* steps = nullptr;     // of each term, in the block
  const uint8_t* channels = nullptr;  // of each sum, in the panel
  const int8_t* end = nullptr;        // where the next block begins, or the next panel
  bool empty = true;
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

/// What a step of a typical panel costs, in terms of lists: below 1.7 less than widened products
/// take.
double TermCost(const QuantLayout& layout, const QuantConstants& constants);

}  // namespace fettle::kernels
