#include "kernels/cpu/depthwise/line.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise/line.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// kTaps 0: any number.
template <int64_t kTaps>
void RunTaps(const LineArgs& args) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  const auto low = hn::Set(d, args.low), high = hn::Set(d, args.high);
  const int64_t taps = kTaps != 0 ? kTaps : args.taps, channels = args.channels;
  const int64_t lines = args.num_lines, w_step = args.phases * kLanes, count = args.count;
  float* out = args.out;
  for (int64_t i = 0, phase = 0; i < count; i += kLanes) {
    auto sum = hn::LoadU(d, args.bias + phase);
    const float* w = args.weights + phase;
    for (int64_t line = 0; line < lines; ++line) {
      const float* x = args.lines[line] + i;
      for (int64_t t = 0; t < taps; ++t, w += w_step)
        sum = hn::MulAdd(hn::LoadU(d, x + t * channels), hn::LoadU(d, w), sum);
    }
    // This order of operands lets NaN through.
    const auto y = hn::Min(high, hn::Max(low, sum));
    if (i + kLanes <= count) {
      hn::StoreU(y, d, out + i);
    } else {
      StoreFirst(d, y, count - i, out + i);
    }
    phase = phase + kLanes == w_step ? 0 : phase + kLanes;
  }
}

void RunDepthwiseLine(const LineArgs& args) {
  if (args.taps == 3) return RunTaps<3>(args);
  RunTaps<0>(args);
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
