// compiled: unfused
// Sums of bytes by two multiply-adds, a vector of bytes at a time: unpacked and packed
// within the same blocks of vectors, so that nothing changes places.
#include <algorithm>

#include "kernels/cpu/quantised_elementwise/fused_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised_elementwise/sum_row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
void RunSums(const PairRowArgs& row) { FindPairRow(PairOp::kAdd)(row); }
#else
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<uint8_t>;
using Halves = hn::Repartition<int16_t, Bytes>;
using Words = hn::Repartition<int32_t, Bytes>;
using Floats = hn::Repartition<float, Bytes>;
using VB = hn::Vec<Bytes>;
using VH = hn::Vec<Halves>;
using VW = hn::Vec<Words>;
using VF = hn::Vec<Floats>;

/// To the nearest whole number, of two to the even one; magnitudes are below 2^22.
HWY_INLINE VW Nearest(VF x) {
#if HWY_TARGET == HWY_AVX2
  return VW{_mm256_cvtps_epi32(x.raw)};
#elif HWY_TARGET == HWY_AVX3
  return VW{_mm512_cvtps_epi32(x.raw)};
#else
  const VF round = hn::Set(Floats(), 0x1.8p23F);  // whose last bit is 1
  return hn::Sub(hn::BitCast(Words(), hn::Add(x, round)), hn::BitCast(Words(), round));
#endif
}

/// Saturated, `low` before `high` in each block.
HWY_INLINE VB ToBytes(VH low, VH high) {
#if HWY_TARGET == HWY_AVX2
  return VB{_mm256_packus_epi16(low.raw, high.raw)};
#elif HWY_TARGET == HWY_AVX3
  return VB{_mm512_packus_epi16(low.raw, high.raw)};
#else
  alignas(16) static constexpr uint8_t kEvenThenOdd[16] = {0, 2, 4, 6, 8, 10, 12, 14,
                                                           1, 3, 5, 7, 9, 11, 13, 15};
  const VH none = hn::Zero(Halves()), most = hn::Set(Halves(), 255);
  const VH left = hn::Min(hn::Max(low, none), most), right = hn::Min(hn::Max(high, none), most);
  return hn::TableLookupBytes(hn::BitCast(Bytes(), hn::Or(left, hn::ShiftLeft<8>(right))),
                              hn::LoadDup128(Bytes(), kEvenThenOdd));
#endif
}

HWY_INLINE VF Float(VH steps) { return hn::ConvertTo(Floats(), hn::BitCast(Words(), steps)); }

class Sums {
 public:
  explicit Sums(const PairRowArgs& row)
      : a_flip_(hn::Set(Bytes(), row.a_type.flip)),
        b_flip_(hn::Set(Bytes(), row.b_type.flip)),
        flip_(hn::Set(Bytes(), row.y_type.flip)),
        low_(hn::Set(Bytes(), static_cast<uint8_t>(row.low))),
        high_(hn::Set(Bytes(), static_cast<uint8_t>(row.high))),
        zero_(hn::Set(Halves(), static_cast<int16_t>(row.y_type.zero))),
        a_zero_(hn::Set(Floats(), row.a_type.zero)),
        a_factor_(hn::Set(Floats(), row.fused.product)),
        b_factor_(hn::Set(Floats(), row.fused.shortcut)),
        addend_(hn::Set(Floats(), row.fused.add)) {}

  HWY_INLINE void Run(const uint8_t* a, const uint8_t* b, uint8_t* y) const {
    const VB none = hn::Zero(Bytes());
    const VB x = hn::Xor(hn::LoadU(Bytes(), a), a_flip_),
             w = hn::Xor(hn::LoadU(Bytes(), b), b_flip_);
    const auto lower = [&](VB v) HWY_ATTR {
      return hn::BitCast(Halves(), hn::InterleaveLower(Bytes(), v, none));
    };
    const auto upper = [&](VB v) HWY_ATTR {
      return hn::BitCast(Halves(), hn::InterleaveUpper(Bytes(), v, none));
    };
    const VH low = Steps(lower(x), lower(w)), high = Steps(upper(x), upper(w));
    const VB bytes = hn::Min(high_, hn::Max(low_, ToBytes(low, high)));
    hn::StoreU(hn::Xor(bytes, flip_), Bytes(), y);
  }

 private:
  HWY_INLINE VH Steps(VH a, VH b) const {
    const VH none = hn::Zero(Halves());
    const VW low =
        Whole(hn::InterleaveLower(Halves(), a, none), hn::InterleaveLower(Halves(), b, none));
    const VW high =
        Whole(hn::InterleaveUpper(Halves(), a, none), hn::InterleaveUpper(Halves(), b, none));
    return hn::SaturatedAdd(hn::ReorderDemote2To(Halves(), low, high), zero_);
  }
  HWY_INLINE VW Whole(VH a, VH b) const {
    const VF x = hn::Sub(Float(a), a_zero_), w = hn::MulAdd(Float(b), b_factor_, addend_);
    return Nearest(hn::MulAdd(x, a_factor_, w));
  }

  VB a_flip_, b_flip_, flip_, low_, high_;
  VH zero_;
  VF a_zero_, a_factor_, b_factor_, addend_;
};

void RunSums(const PairRowArgs& row) {
  constexpr auto kVector = static_cast<int64_t>(hn::MaxLanes(Bytes()));
  const Sums sums(row);
  int64_t i = 0;
  for (; i + kVector <= row.n; i += kVector) sums.Run(row.a + i, row.b + i, row.y + i);
  if (i == row.n) return;
  uint8_t a[kVector] = {}, b[kVector] = {}, y[kVector];
  std::copy_n(row.a + i, row.n - i, a);
  std::copy_n(row.b + i, row.n - i, b);
  sums.Run(a, b, y);
  std::copy_n(y, row.n - i, row.y + i);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunSums);

void RunSumRow(const PairRowArgs& row) { HWY_DYNAMIC_DISPATCH(RunSums)(row); }

}  // namespace fettle::kernels
#endif
