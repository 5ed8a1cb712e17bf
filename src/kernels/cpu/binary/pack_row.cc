#include "kernels/cpu/binary/pack_row.h"

#include <cstring>
#include <type_traits>

#include "kernels/match/bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/pack_row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE bool IsWithin(int32_t bits, const PackRowArgs& args) {
  const int32_t key = bits ^ ((bits >> 31) & 0x7fffffff);
  return args.low <= key && key <= args.high;
}

HWY_INLINE uint64_t PackSome(const float* x, int64_t count, const PackRowArgs& args) {
  uint64_t word = 0;
  for (int64_t c = 0; c < count; ++c) {
    int32_t bits;
    std::memcpy(&bits, x + c, sizeof bits);
    word |= uint64_t{IsWithin(bits, args)} << c;
  }
  return word;
}

/// Up to 64 channels.
HWY_INLINE uint64_t PackWord(const float* x, int64_t count, const PackRowArgs& args) {
  if constexpr (HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR) {
    return PackSome(x, count, args);
  } else {
    const hn::ScalableTag<int32_t> d;
    const hn::ScalableTag<float> df;
    constexpr int kLanes = HWY_LANES(int32_t);
    const auto low = hn::Set(d, args.low), high = hn::Set(d, args.high);
    const auto magnitude = hn::Set(d, 0x7fffffff);
    uint64_t word = 0;
    int64_t c = 0;
    for (; c + kLanes <= count; c += kLanes) {
      const auto bits = hn::BitCast(d, hn::LoadU(df, x + c));
      const auto key = hn::Xor(bits, hn::And(hn::ShiftRight<31>(bits), magnitude));
      // Both ends count: what is outside is below one or above the other.
      const auto outside = hn::Or(hn::Lt(key, low), hn::Gt(key, high));
      // No wider than it is written: a wider load would wait for the store to leave its buffer.
      using Some = std::conditional_t<(kLanes > 8), uint16_t, uint8_t>;
      static_assert(kLanes <= 16);
      uint8_t stored[8] = {};
      hn::StoreMaskBits(d, hn::Not(outside), stored);
      Some some;
      std::memcpy(&some, stored, sizeof some);
      word |= (uint64_t{some} & ((uint64_t{1} << kLanes) - 1)) << c;
    }
    return c < count ? word | PackSome(x + c, count - c, args) << c : word;
  }
}

void PackRowOnTarget(const PackRowArgs& args) {
  const uint64_t flip = args.invert ? ~uint64_t{0} : 0;
  const int64_t whole = args.channels / 64, rest = args.channels % 64;
  for (int64_t i = 0; i < whole; ++i) args.bits[i] = PackWord(args.x + i * 64, 64, args) ^ flip;
  if (rest == 0) return;
  const uint64_t word = PackWord(args.x + whole * 64, rest, args);
  args.bits[whole] = (word ^ flip) & ((uint64_t{1} << rest) - 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(PackRowOnTarget);

void PackRow(const PackRowArgs& args) { HWY_DYNAMIC_DISPATCH(PackRowOnTarget)(args); }

PackRowArgs RowsOf(const ops::BitPacking& packing) {
  return {.channels = packing.channels,
          .low = LowerKey(static_cast<float>(packing.low)),
          .high = UpperKey(static_cast<float>(packing.high)),
          .invert = packing.invert};
}

}  // namespace fettle::kernels
#endif
