// Weights of products of bits as binary/product.cl reads them.
#pragma once

#include <array>

#include "kernels/fields.h"
#include "kernels/match/bits.h"

namespace fettle::kernels {

/// By what pairs of bits are counted (counts.clh): words of 32 or of 16, dot products of bytes with
/// two weights each or one, floats.
struct BitForm {
  int64_t form = 0;
};
inline constexpr Fields kBitFields("binary/counts.clh",
                                   Field{"form", &BitForm::form, {0, 2, 3, 1, 4}, "FORM"});

/// The form of binary/mma.cl, which is not one of those: rows of words.
inline constexpr int64_t kBitRowForm = 5;

/// What results are made of, as RESULT of product.cl: sums of integers times a number that float
/// holds; four numbers for the four counts, in double; bits by limits of such sums.
enum class BitResult : int64_t { kScaled, kDoubles, kLimits };
/// That of a product with these constants.
BitResult BitResultOf(const BitProduct& read, const Constant& results);

/// What a form counts of a product, and how its integer sums follow from that: s = factors[0] *
/// count + factors[1] * (ones of x) + factors[2] * (ones of w) + factors[3] * pairs.
struct BitCounts {
  bool ands = false, x_ones = false, w_ones = false;
  std::array<int64_t, 4> factors{};
};
BitCounts CountsOf(const BitProduct& read, const Constant& results, BitResult result, int64_t form);

/// Where the parts of a filter lie: numbers of results, ones of taps, weights. Rows have the ones
/// of all taps behind those of each, whole pieces of 16 bytes, and one row more, of ones.
struct BitFilter {
  int64_t form = 0, lanes = 4, blocks = 0;  // lanes: outputs of a block
  int64_t taps = 1, words = 1;              // words: of 64 channels
  BitResult result = BitResult::kScaled;

  int64_t padded() const { return blocks * lanes; }
  bool is_rows() const { return form == kBitRowForm; }
  /// Of a row.
  int64_t row_words() const { return (taps * words + 1) / 2 * 2; }
  /// Counts of ones for an output.
  int64_t ones() const { return taps + (is_rows() ? 1 : 0); }
  /// Of ints, from the start.
  int64_t ones_at() const;
  int64_t weights_at() const { return ones_at() + Whole(padded() * ones()); }
  int64_t bytes() const;

 private:
  /// Vectors of 16 ints are read where they are aligned.
  static int64_t Whole(int64_t ints) { return (ints + 15) / 16 * 16; }
};
PackRequest RequestBitFilter(const BitProduct& read, const BitFilter& filter);

}  // namespace fettle::kernels
