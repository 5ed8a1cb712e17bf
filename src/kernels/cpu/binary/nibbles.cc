// Words of pixels and of weights as tables take them: four bits a byte.
#include "kernels/cpu/binary/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/nibbles.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/binary/transpose8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void SplitNibblesOnTarget(const uint64_t* const*, const int64_t*, const TableArgs&, uint8_t*) {}

#else

/// The words at `step` of pixels 0 and 1 of each block of 16 pixels, their bytes in turns.
template <class D>
HWY_INLINE hn::Vec<D> TwoWords(D d, const uint64_t* const* bases, int64_t step) {
  const hn::Repartition<uint8_t, D> d8;
  const hn::Repartition<uint64_t, D> d64;
  alignas(16) static constexpr uint8_t kZip[16] = {0, 8,  1, 9,  2, 10, 3, 11,
                                                   4, 12, 5, 13, 6, 14, 7, 15};
  const auto load = [&](int64_t p) HWY_ATTR {
    const uint64_t words[2] = {bases[p][step], bases[p + 1][step]};
    return hn::LoadU(hn::FixedTag<uint64_t, 2>(), words);
  };
  const auto zip = hn::LoadDup128(d8, kZip);
  if constexpr (hn::MaxLanes(d) == 16) {
    const auto bytes = hn::BitCast(d8, hn::Combine(d64, load(16), load(0)));
    return hn::BitCast(d, hn::TableLookupBytes(bytes, zip));
  } else {
    return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, load(0)), zip));
  }
}

void SplitNibblesOnTarget(const uint64_t* const* bases, const int64_t* steps, const TableArgs& args,
                          uint8_t* nibbles) {
  const SumD d;
  const hn::Repartition<uint8_t, SumD> d8;
  const auto low = hn::Set(d8, 15);
  constexpr int kPixels = 2 * static_cast<int>(hn::MaxLanes(d));
  for (int64_t i = 0; i < args.count; ++i) {
    for (int64_t first = 0; first < args.pixels; first += kPixels) {
      hn::Vec<SumD> v[8];
      for (int k = 0; k < 8; ++k) v[k] = TwoWords(d, bases + first + 2 * k, steps[i]);
      Transpose8(d, v);
      uint8_t* out = nibbles + i * kNibbles * args.pixels + first;
      for (int k = 0; k < 8; ++k, out += 2 * args.pixels) {
        hn::StoreU(hn::And(hn::BitCast(d8, v[k]), low), d8, out);
        hn::StoreU(hn::And(hn::BitCast(d8, hn::ShiftRight<4>(v[k])), low), d8, out + args.pixels);
      }
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(SplitNibblesOnTarget);

void SplitNibbles(const uint64_t* const* bases, const int64_t* steps, const TableArgs& args,
                  uint8_t* nibbles) {
  HWY_DYNAMIC_DISPATCH(SplitNibblesOnTarget)(bases, steps, args, nibbles);
}

void PairNibbles(const uint64_t* words, int64_t count, uint8_t* pairs) {
  for (int64_t i = 0; i < count; ++i, words += kBitOutputs) {
    for (int nibble = 0; nibble < kNibbles; ++nibble) {
      for (int pair = 0; pair < kTablePairs; ++pair) {
        const uint64_t first = words[2 * pair] >> (4 * nibble) & 15;
        const uint64_t second = words[2 * pair + 1] >> (4 * nibble) & 15;
        *pairs++ = static_cast<uint8_t>(first | second << 4);
      }
    }
  }
}

}  // namespace fettle::kernels
#endif
