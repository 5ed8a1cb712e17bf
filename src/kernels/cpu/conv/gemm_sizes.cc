// compiled: small
#include "kernels/cpu/conv/gemm_sizes.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// Pointers per task: 128 KiB of them still leave room for data in the second-level cache.
constexpr int64_t kMaxPointers = 16384;

}  // namespace

WeightShape ConvWeightShape(const ConvGeometry& g, const PixelLayout& in, bool may_join) {
  WeightShape shape{
      .groups = g.groups, .oc = g.oc / g.groups, .ic = g.ic / g.groups, .taps = g.taps()};
  if (!in.is_channels_last()) shape.ic_block = in.block;
  const bool joins = may_join && g.groups > 1 && in.is_channels_last();
  return joins ? JoinGroups(std::move(shape), GetMicroKernels().nr) : shape;
}

ConvSizes ReadConvSizes(const ConvGeometry& g, const TapPlan& taps, const WeightShape& weights,
                        int threads, const CpuDevice& cpu) {
  const MicroKernels& kernels = GetMicroKernels();
  ConvSizes sizes;
  sizes.max_tiles = std::clamp<int64_t>(kMaxPointers / taps.taps / kernels.mr, 1, kMostConvTiles);
  sizes.all_panels = weights.groups * weights.panels(kernels.nr);
  sizes.usual =
      ChooseBlocking(cpu.info(), kernels.mr, kernels.nr, g.pixels(), sizes.all_panels * kernels.nr,
                     weights.ic * g.taps(), threads, sizes.max_tiles * kernels.mr);
  return sizes;
}

ConvSizes ReadConvSizes(const ConvGeometry& g, const PixelLayout& in, int threads,
                        const CpuDevice& cpu) {
  return ReadConvSizes(g, PlanTaps(g, in), ConvWeightShape(g, in, true), threads, cpu);
}

}  // namespace fettle::kernels
