// QuantizeLinear straight to bytes, and DequantizeLinear straight from integers. Included once per
// SIMD target.
#if defined(FETTLE_KERNELS_CPU_ELEMENTWISE_QUANTISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_ELEMENTWISE_QUANTISE_INL_H_
#undef FETTLE_KERNELS_CPU_ELEMENTWISE_QUANTISE_INL_H_
#else
#define FETTLE_KERNELS_CPU_ELEMENTWISE_QUANTISE_INL_H_
#endif

#include <algorithm>

#include "kernels/cpu/elementwise/fetch-inl.h"
#include "kernels/cpu/elementwise/functors-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

/// The larger one; `low` in the place of NaN.
template <class V>
HWY_INLINE V NotBelow(V x, V low) {
#if HWY_ARCH_X86
  return hn::Max(x, low);  // the second of two where one is NaN
#else
  return hn::IfThenElse(hn::Lt(low, x), x, low);
#endif
}

/// QuotientBy where the quotient is held among bytes: +infinity stays above them, -infinity becomes
/// NaN, which is the least of them.
template <class D, class V>
HWY_INLINE V NearQuotientBy(D d, V a, V b, V inverse) {
  const V q = hn::Min(hn::Mul(a, inverse), hn::Set(d, 0x1p20f));
  return hn::MulAdd(hn::NegMulAdd(q, b, a), inverse, q);
}

#if HWY_TARGET == HWY_AVX2
/// As many bytes as a vector has, of what four vectors of quotients are rounded to, plus `zero`,
/// held among the bytes from `least` on; NaN, which becomes the least int32_t, is the least.
HWY_INLINE __m256i BytesOfFour(const __m256 (&q)[4], __m256i zero, int32_t least) {
  const auto pair = [&](int i) HWY_ATTR {
    const __m256 above = _mm256_set1_ps(0x1p20f);  // what it bounds, too, has an int32_t
    const auto whole = [&](__m256 x)
                           HWY_ATTR { return _mm256_cvtps_epi32(_mm256_min_ps(above, x)); };
    return _mm256_adds_epi16(_mm256_packs_epi32(whole(q[i]), whole(q[i + 1])), zero);
  };
  const __m256i a = pair(0), b = pair(2);
  const __m256i bytes = least == 0 ? _mm256_packus_epi16(a, b) : _mm256_packs_epi16(a, b);
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
#endif

/// The bytes, of either sign, of the quotients, rounded, plus `zero`, of `least` and up to 255
/// more; NaN is the least.
template <class F>
HWY_INLINE void QuantiseRow(const F& divide, const float* x, int64_t n, int32_t zero, int32_t least,
                            uint8_t* y) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint8_t, decltype(d)> db;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, static_cast<float>(least - zero)),
             high = hn::Set(d, static_cast<float>(least + 255 - zero));
  // Sums with it have no places behind the point: they are rounded, to even where two are as near.
  // Their last byte is the number's.
  const auto whole = hn::Set(d, 0x1.8p23f);
  const auto z = hn::Set(du, static_cast<uint32_t>(zero));
  const auto bytes = [&](auto v) HWY_ATTR {
    const auto rounded = hn::Add(hn::Min(NotBelow(divide(v), low), high), whole);
    return hn::TruncateTo(db, hn::Add(hn::BitCast(du, rounded), z));
  };
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX2
  const __m256i zeros = _mm256_set1_epi16(static_cast<int16_t>(zero));
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    __m256 q[4];
    for (int64_t j = 0; j < 4; ++j) q[j] = divide(hn::LoadU(d, x + i + j * lanes)).raw;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), BytesOfFour(q, zeros, least));
  }
#endif
  for (; i + lanes <= n; i += lanes) hn::StoreU(bytes(hn::LoadU(d, x + i)), db, y + i);
  if (i == n) return;
  HWY_ALIGN uint8_t rest[hn::MaxLanes(d)];
  hn::Store(bytes(LoadFirst(d, n - i, x + i)), db, rest);
  std::copy_n(rest, n - i, y + i);
}

/// Whether the instruction quantises to bytes by one scale and zero point a row, which is done
/// then.
inline bool QuantiseBytes(const Instruction& in, const View (&v)[3], const Window& out,
                          const Chunk& chunk) {
  if (in.fn != Fn::kQuantise || v[0].broadcast || !v[1].broadcast || !v[2].broadcast) return false;
  const bool bytes = out.storage == DType::kI8 || out.storage == DType::kU8;
  if (!bytes || in.p1 - in.p0 != 255) return false;
  const bool one = v[1].stride == 0 && v[2].stride == 0;
  const Area area = Joined(
      chunk.area, one && v[0].stride == chunk.area.cols && out.row_stride == chunk.area.cols);
  const hn::ScalableTag<float> d;
  for (int64_t r = 0; r < area.rows; ++r) {
    const float scale = v[1].data[r * v[1].stride];
    const float* x = v[0].data + r * v[0].stride;
    auto* y = reinterpret_cast<uint8_t*>(OutputAt(out, chunk.row + r, chunk.col));
    const auto run = [&](const auto& divide) HWY_ATTR {
      QuantiseRow(divide, x, area.cols, static_cast<int32_t>(v[2].data[r * v[2].stride]),
                  static_cast<int32_t>(in.p0), y);
    };
    const auto divisor = hn::Set(d, scale), inverse = hn::Div(hn::Set(d, 1.0f), divisor);
    if (IsInvertible(scale)) {
      run([&](auto a) HWY_ATTR { return NearQuotientBy(d, a, divisor, inverse); });
    } else {
      run([&](auto a) HWY_ATTR { return hn::Div(a, divisor); });
    }
  }
  return true;
}

/// Whether the instruction is DequantizeLinear of rows of bytes, or of u16, with one scale and zero
/// point a row, of so many columns that they are worth a call.
inline bool IsOfIntegers(const Instruction& in, std::span<const Window> operands, int64_t cols) {
  constexpr int64_t kLong = 64;
  if (HWY_TARGET == HWY_SCALAR || cols < kLong) return false;
  if (in.fn != Fn::kDequantise || in.a.kind != Source::kOperand) return false;
  const auto is_once = [&](const Source& source) {
    return source.kind == Source::kImmediate ||
           (source.kind == Source::kOperand && operands[source.index].col_stride == 0);
  };
  const Window& from = operands[in.a.index];
  return from.col_stride == 1 && is_once(in.b) && is_once(in.c) &&
         (from.storage == DType::kU8 || from.storage == DType::kI8 || from.storage == DType::kU16);
}

/// y = (x - zero) * scale, of a whole vector at least.
template <typename T>
HWY_NOINLINE void DequantiseRow(const std::byte* row, int64_t n, float zero, float scale,
                                float* y) {
  if (HWY_TARGET == HWY_SCALAR) return;  // IsOfIntegers lets none through
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<T, decltype(d)> dt;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto z = hn::Set(d, zero), s = hn::Set(d, scale);
  const auto* x = reinterpret_cast<const T*>(row);
  const auto floats = [&](auto v) HWY_ATTR {
    return hn::Mul(hn::Sub(hn::ConvertTo(d, hn::PromoteTo(di, v)), z), s);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(floats(hn::LoadU(dt, x + i)), d, y + i);
  if (i < n) hn::StoreU(floats(hn::LoadU(dt, x + n - lanes)), d, y + n - lanes);
}

/// An instruction that IsOfIntegers.
inline void DequantiseRows(const Window& from, const Chunk& chunk, const View& zero,
                           const View& scale, float* dst, int64_t stride) {
  const bool one = zero.stride == 0 && scale.stride == 0;
  const Area area =
      Joined(chunk.area, one && from.row_stride == chunk.area.cols && stride == chunk.area.cols);
  const auto row_of = from.storage == DType::kU8   ? DequantiseRow<uint8_t>
                      : from.storage == DType::kI8 ? DequantiseRow<int8_t>
                                                   : DequantiseRow<uint16_t>;
  for (int64_t r = 0; r < area.rows; ++r)
    row_of(At(from, chunk.row + r, chunk.col), area.cols, zero.data[r * zero.stride],
           scale.data[r * scale.stride], dst + r * stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
