// Weights of 4 and 8 bits as panels of columns: how a product of this backend keeps them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/pack.h"
#include "ops/quantise/weight_only.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// Rows of the right operand that are packed together: a block of scales begins with a new step.
inline constexpr int64_t kPanelStep = 8;

/// How the panels of one operand lie. Codes are signed numbers of `bits` bits, a step of them
/// 4 bits:  [nr] words of 32 bits, row i of the step in bits 4 * i
///  8 bits:  [8][nr] bytes
/// All regions begin at multiples of 64 bytes: codes [panel][block][step], scales
/// [panel][block][nr] f32, zero points of the same order as i8 where there are any, then a bias
/// [panel][nr] f32. Rows and columns that are missing are 0.
struct PanelLayout {
  int nr = 0, bits = 4;
  int64_t n = 0, k = 0, block = 0;
  bool has_zeros = false, has_bias = false;

  int64_t panels() const { return CeilDiv(n, nr); }
  int64_t blocks() const { return CeilDiv(k, block); }
  int64_t block_steps() const { return CeilDiv(block, kPanelStep); }
  int64_t step_bytes() const { return int64_t{nr} * bits; }
  int64_t block_bytes() const { return block_steps() * step_bytes(); }
  int64_t panel_bytes() const { return blocks() * block_bytes(); }
  int64_t scale_count() const { return panels() * blocks() * nr; }

  int64_t scales_at() const { return RoundUp(panels() * panel_bytes(), 64); }
  int64_t zeros_at() const { return scales_at() + RoundUp(scale_count() * 4, 64); }
  int64_t bias_at() const { return zeros_at() + (has_zeros ? RoundUp(scale_count(), 64) : 0); }
  int64_t bytes() const { return bias_at() + (has_bias ? panels() * nr * 4 : 0); }
};

/// One panel in memory.
struct Panel {
  const std::byte* codes = nullptr;
  const float* scales = nullptr;  // [block][nr]
  const int8_t* zeros = nullptr;  // the same; null: all are 0
  int64_t k = 0, block = 0, block_bytes = 0;
};
Panel PanelOf(const PanelLayout& layout, const std::byte* packed, int64_t panel);

/// The layout without zero points and bias, for weights of `dtype`.
PanelLayout LayoutOf(const ops::WeightOnly& read, DType dtype, int nr);

/// Whether a zero point differs from the middle of its type, around which codes are signed.
bool HasZeroPoints(const Constant& weights, const Constant* zeros);

/// Packs `weights` and their scales to `out`, layout.bytes() bytes. `zeros` may be null; the
/// bias is left to the caller.
void PackPanels(const ops::WeightOnly& read, const PanelLayout& layout, const Constant& weights,
                const Constant& scales, const Constant* zeros, std::byte* out);

}  // namespace fettle::kernels
