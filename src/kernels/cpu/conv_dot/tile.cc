#include "kernels/cpu/conv_dot/tile.h"

#include <utility>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv_dot/tile.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Sums that the register file holds beside the operands.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kSums = 24;
#else
constexpr int kSums = 12;
#endif

template <int kOutputs, typename Sums, typename Rows>
struct Tile;
/// kSum numbers the sums, row by row.
template <int kOutputs, size_t... kSum, size_t... kRow>
struct Tile<kOutputs, std::index_sequence<kSum...>, std::index_sequence<kRow...>> {
  static constexpr int kRows = sizeof...(kRow);

  static HWY_INLINE void Step(V* sums, const V* x, const float* w, int64_t w_step) {
    ((sums[kSum] = hn::MulAdd(x[kSum / kOutputs],
                              hn::LoadU(D(), w + static_cast<int64_t>(kSum % kOutputs) * w_step),
                              sums[kSum])),
     ...);
  }

  static void Run(const DotTileArgs& args) {
    V sums[kRows * kOutputs] = {((void)kSum, hn::Zero(D()))...};
    const int64_t w_step = (args.depth + kDotPad - 1) / kDotPad * kDotPad;
    const int64_t whole = args.depth / kLanes * kLanes;
    const auto mask = hn::FirstN(D(), args.depth - whole);
    const float* w = args.weights;
    for (int64_t t = 0; t < args.taps; ++t, w += kOutputs * w_step) {
      const float* const* rows = args.a + t * kRows;
      for (int64_t k = 0; k < whole; k += kLanes) {
        const V x[kRows] = {hn::LoadU(D(), rows[kRow] + k)...};
        Step(sums, x, w + k, w_step);
      }
      if (whole < args.depth) {
        // Masked: what lies behind may be NaN, which a zero weight would not cancel.
        const V x[kRows] = {hn::MaskedLoad(mask, D(), rows[kRow] + whole)...};
        Step(sums, x, w + whole, w_step);
      }
    }
    (Store(sums[kSum], args, static_cast<int>(kSum)), ...);
  }

  static HWY_INLINE void Store(V sum, const DotTileArgs& args, int i) {
    const float x = hn::GetLane(hn::SumOfLanes(D(), sum)) + args.bias[i % kOutputs];
    // This order lets NaN through.
    const float above = x < args.low ? args.low : x;
    args.c[i] = above > args.high ? args.high : above;
  }
};

template <int kRows, int kOutputs>
void RunTile(const DotTileArgs& args) {
  Tile<kOutputs, std::make_index_sequence<kRows * kOutputs>, std::make_index_sequence<kRows>>::Run(
      args);
}

template <int kOutputs>
DotKernels Make() {
  constexpr int kFit = kSums / kOutputs;
  constexpr int kRows = kFit < kMaxDotRows ? kFit : kMaxDotRows;
  return {kRows, RunTile<kRows, kOutputs>, RunTile<1, kOutputs>};
}

DotKernels Get(int outputs) {
  switch (outputs) {
    case 1: return Make<1>();
    case 2: return Make<2>();
    case 3: return Make<3>();
    default: return Make<4>();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Get);

DotKernels GetDotKernels(int outputs) {
  ApplyIsaCap();
  return HWY_DYNAMIC_DISPATCH(Get)(outputs);
}

}  // namespace fettle::kernels
#endif
