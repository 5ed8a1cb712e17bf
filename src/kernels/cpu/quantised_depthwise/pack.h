// Packed weights of depthwise convolutions by dot products.
#pragma once

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised/pack.h"
#include "kernels/cpu/quantised_depthwise/dot.h"

namespace fettle::kernels {

/// The packed form, by blocks of kDotChannels channels in the order of DotPlace: weights
/// [block][kernel column][four rows][channel][4]; then of all channels the sum of the weights, the
/// bias, the scale and the addend. A block of up to kHalfChannels channels has each of them twice.
struct DotLayout {
  int64_t channels, kernel_h, kernel_w;
  bool unsigned_w;

  int64_t row_groups() const { return CeilDiv(kernel_h, kDotTaps); }
  int64_t taps() const { return kernel_w * row_groups(); }
  int64_t blocks() const { return CeilDiv(channels, kDotChannels); }
  int64_t block_bytes() const { return taps() * kDotBytes; }
  int64_t columns() const { return blocks() * kDotChannels; }
  int64_t sums_offset() const { return blocks() * block_bytes(); }
  int64_t biases_offset() const { return sums_offset() + columns() * 4; }
  int64_t scales_offset() const { return biases_offset() + columns() * 4; }
  int64_t adds_offset() const { return scales_offset() + columns() * 4; }
  int64_t bytes() const { return adds_offset() + columns() * 4; }
};

/// Packs the weights of `q`, whose results are requantised.
PackRequest MakeDotPack(const QuantisedGroup& q, const DotLayout& layout);

}  // namespace fettle::kernels
