// Convolutions and matrix products of two-valued operands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::passes {

/// Groups of fewer channels leave most of a word empty: floats are faster.
inline constexpr int64_t kLeastGroup = 16;

/// A Conv, MatMul or Gemm whose operands have two values each: x one pair, weights one pair for
/// each output. Every sum of its products is exact in double. Alternatively x is -1, 0 or 1 and
/// weights are -w or w: that is a product of twice the channels, the bits for 1 before the bits for
/// -1, whose weights are negated.
struct BinaryProduct {
  ir::NodeId node = -1;
  ir::ValueId x = ir::kAbsent, y = ir::kAbsent;
  bool is_masked = false;  // x is the operand of a Sign; its channels fill whole words
  int rank = 2;            // of y
  bool is_conv = false;
  /// Sums with taps outside of the image have fewer terms.
  bool is_padded = false;
  /// A Pad before a convolution that pads nothing itself. x is the Pad's operand, padded with
  /// `pad_bit` by `pads` (of spatial axes, begins before ends). Padded terms count. Empty: no Pad.
  std::vector<int64_t> pads;
  bool pad_bit = false;
  int64_t groups = 1, channels = 0, outputs = 0;  // channels: of all groups
  int64_t x_channels = 0;                         // where it is masked: those of x
  int64_t pairs = 0;                              // products in a sum
  double x_low = 0, x_high = 0;
  std::vector<double> w_zero, w_one, bias;  // per output
  Tensor words;                             // bits of weights, as BinaryConv takes them

  /// Where a product is scale * u * v of integers u, v that are each -1 or 1 or (unipolar) 0 or 1:
  /// results are numbers of scale * s + bias.
  bool is_lattice = false, x_unipolar = false, w_unipolar = false;
  std::vector<double> scale;  // per output

  /// The integers that s may be: every `step`-th of [lowest, highest].
  int64_t lowest() const { return x_unipolar && w_unipolar ? 0 : -pairs; }
  int64_t highest() const { return pairs; }
  int64_t step() const { return x_unipolar || w_unipolar || is_padded ? 1 : 2; }
};

bool IsProduct(const ir::Node& node);
/// The operand of a product that is computed.
ir::ValueId ProductInput(const ir::Node& node);
/// Reads the weights of a product whose input has the values x_low < x_high. Nothing, with the
/// reason in `why`, where bits cannot give the same results.
std::optional<BinaryProduct> ReadBinaryProduct(const ir::Graph& graph, ir::NodeId id, double x_low,
                                               double x_high, std::string& why);
/// The same for a product whose input is Sign(x), where nothing else is known about x.
std::optional<BinaryProduct> ReadMaskedProduct(const ir::Graph& graph, ir::NodeId id, ir::ValueId x,
                                               std::string& why);

}  // namespace fettle::passes
