#include "kernels/cpu/depthwise/line.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise/line.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Stores the clamped sums of vector `i`.
template <class D, class V>
void StoreSums(D d, const LineArgs& args, V sum, int64_t i) {
  const V y = ClampOrNan(sum, hn::Set(d, args.low), hn::Set(d, args.high));
  constexpr int64_t kLanes = HWY_LANES(float);
  if (i + kLanes <= args.count) {
    hn::StoreU(y, d, args.out + i);
  } else if (i < args.count) {
    StoreFirst(d, y, args.count - i, args.out + i);
  }
}

/// kTimes runs of kPhases vectors from `i` on, at which phases begin: as many sums as hide what a
/// multiply-add waits, each weight read once for kTimes of them. kTaps 0: any number.
template <int kPhases, int kTimes, int64_t kTaps>
void RunBlock(const LineArgs& args, int64_t i) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  const int64_t taps = kTaps != 0 ? kTaps : args.taps;
  hn::Vec<decltype(d)> sums[kTimes][kPhases];
  for (int p = 0; p < kPhases; ++p) {
    for (int u = 0; u < kTimes; ++u) sums[u][p] = hn::LoadU(d, args.bias + p * kLanes);
  }
  const float* w = args.weights;
  for (int64_t line = 0; line < args.num_lines; ++line) {
    for (int64_t t = 0; t < taps; ++t) {
      const float* x = args.lines[line] + i + args.offsets[t];
      for (int p = 0; p < kPhases; ++p, w += kLanes) {
        const auto weight = hn::LoadU(d, w);
        for (int u = 0; u < kTimes; ++u) {
          const auto pixels = hn::LoadU(d, x + (u * kPhases + p) * kLanes);
          sums[u][p] = hn::MulAdd(pixels, weight, sums[u][p]);
        }
      }
    }
  }
  for (int u = 0; u < kTimes; ++u) {
    for (int p = 0; p < kPhases; ++p)
      StoreSums(d, args, sums[u][p], i + (u * kPhases + p) * kLanes);
  }
}

template <int kPhases, int kTimes, int64_t kTaps>
void RunTaps(const LineArgs& args) {
  constexpr int64_t kVectors = kPhases * HWY_LANES(float);
  int64_t i = 0;
  for (; i + kTimes * kVectors <= args.count; i += kTimes * kVectors)
    RunBlock<kPhases, kTimes, kTaps>(args, i);
  for (; i < args.count; i += kVectors) RunBlock<kPhases, 1, kTaps>(args, i);
}

template <int kPhases, int kTimes>
void RunPhases(const LineArgs& args) {
  if (args.taps == 3) return RunTaps<kPhases, kTimes, 3>(args);
  RunTaps<kPhases, kTimes, 0>(args);
}

void RunDepthwiseLine(const LineArgs& args) {
  // Channels are fewer than half of at most 16 lanes.
  switch (args.phases) {
    case 1: return RunPhases<1, 8>(args);
    case 3: return RunPhases<3, 3>(args);
    case 5: return RunPhases<5, 2>(args);
    default: return RunPhases<7, 1>(args);
  }
}

LineKernel LineKernelOf() { return {HWY_LANES(float), RunDepthwiseLine}; }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(LineKernelOf);

LineKernel GetLineKernel() {
  ApplyIsaCap();
  return HWY_DYNAMIC_DISPATCH(LineKernelOf)();
}

}  // namespace fettle::kernels
#endif
