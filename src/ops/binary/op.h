// Tensors of bits: how they are packed, and products of them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/window.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// Bits lie in words of u64, channels innermost: [n, spatial..., group * words]. Each group of
/// channels begins a word, its first channel in bit 0; bits behind its last channel are zero.
inline constexpr int64_t kWordBits = 64;
constexpr int64_t WordsOf(int64_t channels) {
  return channels / kWordBits + (channels % kWordBits != 0 ? 1 : 0);
}
/// The bits of word `word` that hold channels.
constexpr uint64_t WordMask(int64_t channels, int64_t word) {
  const int64_t left = channels - word * kWordBits;
  return left >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
}

/// PackBits: a channel's bit is 1 where low <= x <= high (0 for a NaN), the other way round with
/// `invert`.
struct BitPacking {
  int axis = 1;                      // of the channels
  int64_t groups = 1, channels = 0;  // channels: of a group
  double low = 0, high = 0;
  bool invert = false;

  int64_t words() const { return WordsOf(channels); }
};
Result<BitPacking> ReadPackBits(const ir::Node& node, const Shape& x);

/// BinaryConv over an image [n, spatial..., words], and BinaryMatMul, which is one without spatial
/// axes. Bits x stand for x_zero and x_one, those of weights for two numbers per output channel;
/// taps outside of the image add nothing, or meet bits that are all `pad_bit`.
struct BinaryProduct : Window {
  int64_t groups = 1, channels = 0, outputs = 0;  // channels: of a group; outputs: of all
  int64_t images = 1;
  Shape in, out;  // spatial extents
  double x_zero = -1, x_one = 1;
  /// Whether zeros stand for 0 instead of -1 in the sums that results of bits are decided by.
  bool x_unipolar = false, w_unipolar = false;
  bool is_conv = true;
  std::optional<bool> pad_bit;

  int64_t words() const { return WordsOf(channels); }
  int64_t taps() const;
  int64_t pixels() const { return images * out.elements(); }
};
/// Weights are [outputs, kernel..., words], or [outputs, words] of BinaryMatMul. Fails with
/// kInvalidModel on sizes that disagree.
Result<BinaryProduct> ReadBinaryProduct(const ir::Node& node, const Shape& x, const Shape& w);

}  // namespace fettle::ops
