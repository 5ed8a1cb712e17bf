// compiled: unfused
// Sums to bytes, and the sum of these with other bytes, in the operations of the graph: each is
// rounded, so that this file is compiled without contraction.
#include "kernels/cpu/quantised/requantise.h"

#if defined(__AVX512VNNI__)
#include "kernels/cpu/quantised/byte_rows_avx512.h"

namespace fettle::kernels {
namespace {

/// Results and bytes of the shortcut to steps of the sum; `kFused`: by RequantiseArgs::fused.
template <bool kFused>
class Sum {
 public:
  explicit Sum(const RequantiseArgs& args)
      : low_(_mm512_set1_ps(static_cast<float>(args.low - args.zero))),
        high_(_mm512_set1_ps(static_cast<float>(args.high - args.zero))),
        product_scale_(_mm512_set1_ps(args.sum->a_type.scale)),
        flip_(_mm_set1_epi8(static_cast<char>(args.sum->b_type.flip))),
        zero_(_mm512_set1_ps(args.sum->b_type.zero)),
        scale_(_mm512_set1_ps(args.sum->b_type.scale)),
        sum_scale_(_mm512_set1_ps(args.sum->y_type.scale)) {
    if constexpr (kFused) {
      product_scale_ = _mm512_set1_ps(args.fused->product);
      scale_ = _mm512_set1_ps(args.fused->shortcut);
      add_ = _mm512_set1_ps(args.fused->add);
    }
  }

  __m512i operator()(__m512 results, __m128i shortcut) const {
    const __m512 clamped = _mm512_min_ps(high_, _mm512_max_ps(low_, results));
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m512 a = _mm512_roundscale_ps(clamped, kNearest);
    const __m512 b = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_xor_si128(shortcut, flip_)));
    if constexpr (kFused) {
      return _mm512_cvtps_epi32(
          _mm512_fmadd_ps(a, product_scale_, _mm512_fmadd_ps(b, scale_, add_)));
    }
    const __m512 sum = _mm512_add_ps(_mm512_mul_ps(a, product_scale_),
                                     _mm512_mul_ps(_mm512_sub_ps(b, zero_), scale_));
    return _mm512_cvtps_epi32(_mm512_div_ps(sum, sum_scale_));
  }

 private:
  __m512 low_, high_, product_scale_;
  __m128i flip_;
  __m512 zero_, scale_, sum_scale_;
  __m512 add_{};
};

template <bool kSigned, bool kFused>
struct SumStrips {
  template <int kVectors, bool kWhole>
  void Run(const RequantiseArgs& args, int64_t n) const {
    const ByteOperand& y = args.sum->y_type;
    const ByteRows<kVectors, kWhole, kSigned> rows(args, n, static_cast<int>(y.zero) - Excess(),
                                                   Bound(args.sum->low), Bound(args.sum->high));
    const Sum<kFused> sum(args);
    rows.Run([sum](__m512 results, const auto& shortcut) { return sum(results, shortcut()); });
  }

  static constexpr int Excess() { return kSigned ? 128 : 0; }
  static int Bound(float bound) { return static_cast<int>(bound) - Excess(); }
};

template <bool kSigned>
void RunStrips(const RequantiseArgs& args) {
  if (args.fused != nullptr) {
    ForEachStrip(args, SumStrips<kSigned, true>());
  } else {
    ForEachStrip(args, SumStrips<kSigned, false>());
  }
}

}  // namespace

void RunSumAvx512(const RequantiseArgs& args) {
  if (args.is_signed) {
    RunStrips<true>(args);
  } else {
    RunStrips<false>(args);
  }
}

}  // namespace fettle::kernels
#endif
