// Weights of 2, 4 and 8 bits as panels of columns: how products keep them packed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/match/product.h"
#include "ops/quantise/weight_only.h"

namespace fettle::kernels {

/// Rows of the right operand that are packed together: a block of scales begins with a new step.
inline constexpr int64_t kPanelStep = 8;

/// How the panels of one operand lie. Codes are signed numbers of `bits` bits, a step of them
///  2 and 4 bits:  [nr] words of 16 or 32 bits, row i of the step in `bits` bits from bits * i on
///  8 bits:        [8][nr] bytes
/// All regions begin at multiples of 64 bytes: codes [panel][block][step], scales
/// [panel][block][nr] f32, zero points of the same order as i8 where there are any, then a bias
/// [panel][nr] f32. Rows and columns that are missing are 0.
struct PanelLayout {
  int nr = 0, bits = 4;
  int64_t n = 0, k = 0, block = 0;
  bool has_zeros = false, has_bias = false;

  int64_t panels() const { return Whole(n, nr); }
  int64_t blocks() const { return Whole(k, block); }
  int64_t block_steps() const { return Whole(block, kPanelStep); }
  int64_t step_bytes() const { return int64_t{nr} * bits; }
  int64_t block_bytes() const { return block_steps() * step_bytes(); }
  int64_t panel_bytes() const { return blocks() * block_bytes(); }
  int64_t scale_count() const { return panels() * blocks() * nr; }

  int64_t scales_at() const { return Aligned(panels() * panel_bytes()); }
  int64_t zeros_at() const { return scales_at() + Aligned(scale_count() * 4); }
  int64_t bias_at() const { return zeros_at() + (has_zeros ? Aligned(scale_count()) : 0); }
  int64_t bytes() const { return bias_at() + (has_bias ? panels() * nr * 4 : 0); }

 private:
  static int64_t Whole(int64_t count, int64_t of) { return (count + of - 1) / of; }
  static int64_t Aligned(int64_t bytes) { return Whole(bytes, 64) * 64; }
};

/// One panel in memory.
struct Panel {
  const std::byte* codes = nullptr;
  const float* scales = nullptr;  // [block][nr]
  const int8_t* zeros = nullptr;  // the same; null: all are 0
  int64_t k = 0, block = 0, block_bytes = 0;
};
Panel PanelOf(const PanelLayout& layout, const std::byte* packed, int64_t panel);

/// What nodes 0 and 1 of a group are: a dequantised constant and its product.
struct CodeProduct {
  ops::WeightOnly weights;
  Product product;
  ir::ValueId anchor = ir::kAbsent;
};
Result<CodeProduct> ReadCodeProduct(const ir::Graph& group);

/// The layout without zero points and bias, for weights of `dtype`.
PanelLayout LayoutOf(const ops::WeightOnly& read, DType dtype, int nr);

/// Whether a zero point differs from the middle of the codes' range, around which they are signed.
bool HasZeroPoints(const ops::WeightOnly& read, const Constant& weights, const Constant* zeros);

/// The packed form of the operand and of the constant row `bias`, times `beta`, that is added to
/// each row of the product where `layout` has one.
PackRequest RequestPanels(const ops::WeightOnly& read, const PanelLayout& layout, DType dtype,
                          ir::ValueId bias, float beta);

}  // namespace fettle::kernels
