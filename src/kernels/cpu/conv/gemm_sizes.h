// Sizes of a convolution as a product, which its blocking follows from.
#pragma once

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/match/conv.h"

namespace fettle::kernels {

/// Row tiles of one task.
inline constexpr int64_t kMostConvTiles = 64;

/// The weights of a convolution whose input is `in`; groups may be joined.
WeightShape ConvWeightShape(const ConvGeometry& g, const PixelLayout& in, bool may_join);

struct ConvSizes {
  int64_t max_tiles, all_panels;
  Blocking usual;
};
ConvSizes ReadConvSizes(const ConvGeometry& g, const TapPlan& taps, const WeightShape& weights,
                        int threads, const CpuDevice& cpu);
/// The same with groups that may be joined.
ConvSizes ReadConvSizes(const ConvGeometry& g, const PixelLayout& in, int threads,
                        const CpuDevice& cpu);

}  // namespace fettle::kernels
