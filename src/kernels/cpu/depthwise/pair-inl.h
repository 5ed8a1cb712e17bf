// Two output rows of a 3x3 depthwise convolution of stride 1 at once. Included once per SIMD
// target, inside no namespace.
#if defined(FETTLE_KERNELS_CPU_DEPTHWISE_PAIR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_DEPTHWISE_PAIR_INL_H_
#undef FETTLE_KERNELS_CPU_DEPTHWISE_PAIR_INL_H_
#else
#define FETTLE_KERNELS_CPU_DEPTHWISE_PAIR_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "kernels/cpu/depthwise/row.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds what the column `kAt` of a line gives through tap `kT` to the output of a block that it
/// meets, where there is one.
template <int kStride, int kOutputs, int kAt, int kT, class V>
HWY_INLINE void AddTap(V* acc, V x, V w) {
  constexpr int kOffset = kAt - kT;
  if constexpr (kOffset >= 0 && kOffset % kStride == 0 && kOffset / kStride < kOutputs)
    acc[kOffset / kStride] = hn::MulAdd(x, w, acc[kOffset / kStride]);
}

/// Neighbouring outputs of both rows: a column of a line that both meet is loaded once, and each
/// line comes into the first-level cache for two rows. Eight sums, six weights and a column fit
/// into sixteen registers. kLeft, kRight: the first or last column lies outside of the lines.
template <bool kLeft, bool kRight, typename Outputs, typename Columns, typename Lines>
struct RowPair;
template <bool kLeft, bool kRight, size_t... kOut, size_t... kColumn, size_t... kLine>
struct RowPair<kLeft, kRight, std::index_sequence<kOut...>, std::index_sequence<kColumn...>,
               std::index_sequence<kLine...>> {
  using PairD = hn::ScalableTag<float>;
  using PairV = hn::Vec<PairD>;
  static constexpr int kTaps = 3, kOutputs = sizeof...(kOut), kColumns = sizeof...(kColumn);
  static constexpr auto kStep = static_cast<int64_t>(HWY_LANES(float));

  PairV upper[kOutputs], lower[kOutputs];

  // An implicit constructor would be compiled without the target's options.
  HWY_INLINE RowPair() {}

  template <int kAt>
  static HWY_INLINE void Taps(PairV* acc, PairV x, const PairV* w) {
    AddTap<1, kOutputs, kAt, 0>(acc, x, w[0]);
    AddTap<1, kOutputs, kAt, 1>(acc, x, w[1]);
    AddTap<1, kOutputs, kAt, 2>(acc, x, w[2]);
  }
  static HWY_INLINE void LoadWeights(const float* weights, int64_t step, PairV* w) {
    for (int t = 0; t < kTaps; ++t) w[t] = hn::LoadU(PairD(), weights + t * step);
  }
  template <int kAt, bool kUpper, bool kLower>
  HWY_INLINE void Column(const float*& at, int64_t step, const PairV* w_upper,
                         const PairV* w_lower) {
    if constexpr ((kLeft && kAt == 0) || (kRight && kAt == kColumns - 1)) return;
    const PairV x = hn::LoadU(PairD(), at);
    at += step;
    if constexpr (kUpper) Taps<kAt>(upper, x, w_upper);
    if constexpr (kLower) Taps<kAt>(lower, x, w_lower);
  }
  /// Line kL of those that the two rows meet, from the block's first column inside on.
  template <int kL>
  HWY_INLINE void Line(const float* at, int64_t step, const float* weights, int64_t w_step) {
    constexpr bool kUpper = kL < kTaps, kLower = kL >= 1;
    PairV w_upper[kTaps], w_lower[kTaps];
    if constexpr (kUpper) LoadWeights(weights + kL * kTaps * w_step, w_step, w_upper);
    if constexpr (kLower) LoadWeights(weights + (kL - 1) * kTaps * w_step, w_step, w_lower);
    // Else g++ keeps an address for each column of each line, most of them in memory.
    asm("" : "+r"(at));
    (Column<static_cast<int>(kColumn), kUpper, kLower>(at, step, w_upper, w_lower), ...);
  }
  static HWY_INLINE void Store(PairV sum, PairV low, PairV high, int64_t left, float* out) {
    const PairV y = ClampOrNan(sum, low, high);
    if (left >= kStep) {
      hn::StoreU(y, PairD(), out);
    } else {
      StoreFirst(PairD(), y, left, out);
    }
  }

  /// Outputs from `ow` on.
  static HWY_NOINLINE void Run(const DepthwiseRow& first, const DepthwiseRow& second, int64_t ow) {
    const int64_t step = first.in_pixel, w_step = first.padded_channels;
    const int64_t column = (ow - first.pad + (kLeft ? 1 : 0)) * step;
    const auto line_of = [&](int64_t l) {
      const std::byte* line = l < kTaps ? first.lines[l] : second.lines[l - 1];
      return reinterpret_cast<const float*>(line) + column;
    };
    const float* const lines[] = {line_of(static_cast<int64_t>(kLine))...};
    auto* out_upper = reinterpret_cast<float*>(first.out) + ow * first.out_pixel;
    auto* out_lower = reinterpret_cast<float*>(second.out) + ow * first.out_pixel;
    for (int64_t c = 0; c < first.channels; c += kStep) {
      RowPair sums;
      const PairV bias = hn::LoadU(PairD(), first.bias + c);
      ((sums.upper[kOut] = bias, sums.lower[kOut] = bias), ...);
      (sums.template Line<static_cast<int>(kLine)>(lines[kLine] + c, step, first.weights + c,
                                                   w_step),
       ...);
      const PairV low = hn::Set(PairD(), first.low), high = hn::Set(PairD(), first.high);
      const int64_t left = first.channels - c;
      float *to_upper = out_upper + c, *to_lower = out_lower + c;
      ((Store(sums.upper[kOut], low, high, left, to_upper), to_upper += first.out_pixel), ...);
      ((Store(sums.lower[kOut], low, high, left, to_lower), to_lower += first.out_pixel), ...);
    }
  }
};

/// Outputs of a block of both rows.
constexpr int64_t kPairOutputs = 4;

template <bool kLeft, bool kRight>
void RunPairBlock(const DepthwiseRow& first, const DepthwiseRow& second, int64_t ow) {
  using Outputs = std::make_index_sequence<kPairOutputs>;
  using Columns = std::make_index_sequence<kPairOutputs + 2>;
  RowPair<kLeft, kRight, Outputs, Columns, std::make_index_sequence<4>>::Run(first, second, ow);
}

/// Three taps of floats. One block would meet both ends of a shorter line.
inline bool IsOfPair(const DepthwiseRow& row) {
  return HWY_TARGET == HWY_AVX2 && row.form == DepthwiseForm::kFloats && row.kernel_width == 3 &&
         row.dilation == 1 && row.stride == 1 && row.num_lines == 3 && row.pad <= 1 &&
         row.out_width > kPairOutputs && row.out_width + 2 - row.pad <= row.in_width + 1;
}
/// Whether two rows run as a pair: the second one's taps meet what lies a line below the first
/// one's, which strides and dilations of columns alone do not tell.
inline bool CanPair(const DepthwiseRow& first, const DepthwiseRow& second) {
  return IsOfPair(first) && IsOfPair(second) && second.lines[0] == first.lines[1] &&
         second.lines[1] == first.lines[2] && second.weights == first.weights;
}
inline void RunPair(const DepthwiseRow& first, const DepthwiseRow& second) {
  if constexpr (HWY_TARGET == HWY_AVX2) {
    const int64_t last = first.out_width - kPairOutputs;
    if (first.pad != 0) RunPairBlock<true, false>(first, second, 0);
    for (int64_t ow = first.pad != 0 ? kPairOutputs : 0; ow < last; ow += kPairOutputs)
      RunPairBlock<false, false>(first, second, ow);
    // The last block overlaps the one before: it writes the same values again.
    const bool right = first.out_width + 2 - first.pad > first.in_width;
    (right ? RunPairBlock<false, true> : RunPairBlock<false, false>)(first, second, last);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
