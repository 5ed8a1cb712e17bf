// Functions that look at the sign and the order of halves alone, without making floats of them.
// Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_ELEMENTWISE_HALF_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_ELEMENTWISE_HALF_BITS_INL_H_
#undef FETTLE_KERNELS_CPU_ELEMENTWISE_HALF_BITS_INL_H_
#else
#define FETTLE_KERNELS_CPU_ELEMENTWISE_HALF_BITS_INL_H_
#endif

#include <algorithm>

#include "kernels/cpu/elementwise/fetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

/// The bits of 1 and of infinity in a type of 16 bits; those of a magnitude above are no number.
struct HalfBits {
  uint16_t one, infinity;
};
HWY_INLINE HalfBits BitsOf(DType storage) {
  return storage == DType::kF16 ? HalfBits{0x3c00, 0x7c00} : HalfBits{0x3f80, 0x7f80};
}

/// Whether the function is one of these, of halves that lie in rows and stay of their type.
HWY_INLINE bool IsOfHalfBits(const Instruction& in, std::span<const Window> operands,
                             const Window& out) {
  if (in.fn != Fn::kAbs && in.fn != Fn::kNeg && in.fn != Fn::kRelu && in.fn != Fn::kSign)
    return false;
  if (in.a.kind != Source::kOperand) return false;
  const Window& from = operands[in.a.index];
  return from.col_stride == 1 && from.storage == out.storage &&
         (out.storage == DType::kF16 || out.storage == DType::kBF16);
}

template <class F>
HWY_INLINE void MapBits(const F& f, const uint16_t* x, int64_t n, uint16_t* y) {
  const hn::ScalableTag<uint16_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN uint16_t rest[hn::MaxLanes(d)] = {};
  std::copy_n(x + i, n - i, rest);
  hn::Store(f(hn::Load(d, rest)), d, rest);
  std::copy_n(rest, n - i, y + i);
}

inline void MapHalfRow(Fn fn, HalfBits bits, const uint16_t* x, int64_t n, uint16_t* y) {
  const hn::ScalableTag<uint16_t> d;
  const auto sign = hn::Set(d, 0x8000), rest = hn::Set(d, 0x7fff);
  if (fn == Fn::kAbs || fn == Fn::kNeg) {
    const auto cleared = fn == Fn::kAbs ? sign : hn::Zero(d);
    return MapBits([&](auto v) HWY_ATTR { return hn::AndNot(cleared, hn::Xor(v, sign)); }, x, n, y);
  }
  if (fn == Fn::kRelu) {
    // Numbers below 0 are those from 0x8001 to the negative infinity.
    const auto first = hn::Set(d, 0x8001),
               room = hn::Set(d, static_cast<uint16_t>(bits.infinity - 1));
    return MapBits([&](auto v)
                       HWY_ATTR { return hn::IfThenElseZero(hn::Gt(hn::Sub(v, first), room), v); },
                   x, n, y);
  }
  const auto one = hn::Set(d, bits.one), infinity = hn::Set(d, bits.infinity);
  MapBits(
      [&](auto v) HWY_ATTR {
        const auto magnitude = hn::And(v, rest);
        const auto unit = hn::Or(hn::And(v, sign), one);
        const auto y = hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(d)), unit);
        return hn::IfThenElse(hn::Gt(magnitude, infinity), v, y);
      },
      x, n, y);
}

/// Whether the instruction IsOfHalfBits, and done then.
inline bool MapHalves(const Instruction& in, std::span<const Window> operands, const Window& out,
                      const Chunk& chunk) {
  if (!IsOfHalfBits(in, operands, out)) return false;
  const Window& from = operands[in.a.index];
  const bool dense = from.row_stride == chunk.area.cols && out.row_stride == chunk.area.cols;
  const Area rows = Joined(chunk.area, dense);
  for (int64_t r = 0; r < rows.rows; ++r) {
    MapHalfRow(in.fn, BitsOf(out.storage),
               reinterpret_cast<const uint16_t*>(At(from, chunk.row + r, chunk.col)), rows.cols,
               reinterpret_cast<uint16_t*>(OutputAt(out, chunk.row + r, chunk.col)));
  }
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
