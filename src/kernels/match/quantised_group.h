// Groups that compute on quantised operands: DequantizeLinear of x, w (and the bias), an operator,
// what follows; and the integer operators.
#pragma once

#include <optional>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// acc = sum (x - x_zero) (w - w_zero); result = acc * x_scale * w_scale + bias.
struct QuantisedGroup {
  const ir::Node* core = nullptr;  // Conv, Gemm, MatMul, ConvInteger or MatMulInteger
  ir::ValueId x = ir::kAbsent;     // u8 or i8
  /// A constant scalar, a computed one (integer operators only), or kAbsent for 0.
  ir::ValueId x_zero = ir::kAbsent;
  double x_scale = 1;
  ir::ValueId w = ir::kAbsent;  // u8 or i8; a constant, but of products of two computed tensors
  /// Constants of one value or one per output channel; kAbsent: 1 and 0.
  ir::ValueId w_scale = ir::kAbsent, w_zero = ir::kAbsent;
  /// A float constant, or an i32 one times bias_scale; one value per output channel.
  ir::ValueId bias = ir::kAbsent, bias_scale = ir::kAbsent;

  /// What follows the core where it is nothing but clamps and one QuantizeLinear with constant
  /// parameters: q = round(clamp(result) / scale) + zero, within [low, high].
  struct Requantise {
    double scale = 1;
    int32_t zero = 0, low = 0, high = 255;
  };
  std::optional<Requantise> requantise;

  /// What follows instead where such bytes are dequantised, bytes of another tensor are added, and
  /// the sum is clamped and quantised: sum = (q - product.zero) * product_scale + (shortcut -
  /// zero) * scale.
  struct Residual {
    Requantise product;
    ir::ValueId product_bytes = ir::kAbsent;  // q
    double product_scale = 1;                 // by which q is read
    ir::ValueId shortcut = ir::kAbsent;       // u8 or i8, an input of the group, shaped like q
    double scale = 1;
    int32_t zero = 0;
    Requantise sum;
  };
  std::optional<Residual> residual;

  /// How the product itself becomes bytes; null where it does not.
  const Requantise* quantiser() const {
    return requantise ? &*requantise : residual ? &residual->product : nullptr;
  }

  ir::ValueId anchor() const { return core->output(0); }
};

/// Fails with kUnsupported and the reason. The operands of the core are checked for types, their
/// shapes are not.
Result<QuantisedGroup> ReadQuantisedGroup(const ir::Graph& group);
/// The same of a MatMul or Gemm without a bias whose second operand is computed, too, and has one
/// scale and zero point; its result is requantised, or ends the group.
Result<QuantisedGroup> ReadComputedProduct(const ir::Graph& group);

}  // namespace fettle::kernels
