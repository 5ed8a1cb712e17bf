#include "kernels/cpu/table_lookup/byte_map.h"

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/table_lookup/byte_map.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<uint8_t>;
constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(uint8_t));

/// A shuffle looks 16 bytes up and answers 0 where an index has its upper bit: one for each
/// sixteenth of the table, with that bit set for the bytes of all others. ARM's answers 0 to any
/// index from 16 on; x86's takes four bits of those below 128.
HWY_INLINE hn::Vec<D> Map(const uint8_t* table, hn::Vec<D> x) {
  const D d;
  auto y = hn::Zero(d);
  for (int part = 0; part < 16; ++part) {
    auto index = hn::Xor(x, hn::Set(d, static_cast<uint8_t>(part * 16)));
#if !HWY_ARCH_ARM
    index = hn::SaturatedAdd(index, hn::Set(d, uint8_t{0x70}));
#endif
    y = hn::Or(y, hn::TableLookupBytesOr0(hn::LoadDup128(d, table + part * 16), index));
  }
  return y;
}

template <bool copies>
void MapRowsOf(const ByteMapArgs& args) {
  const D d;
  for (int64_t r = 0; r < args.rows; ++r) {
    const uint8_t* x = args.x + r * args.x_stride;
    uint8_t* y = args.y + r * args.y_stride;
    int64_t c = 0;
    if constexpr (HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR) {
      for (; c + kLanes <= args.columns; c += kLanes) {
        const auto v = hn::LoadU(d, x + c);
        hn::StoreU(copies ? v : Map(args.table, v), d, y + c);
      }
    }
    for (; c < args.columns; ++c) y[c] = copies ? x[c] : args.table[x[c]];
  }
}

void MapRows(const ByteMapArgs& args) {
  args.table == nullptr ? MapRowsOf<true>(args) : MapRowsOf<false>(args);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(MapRows);

bool RunsAvx512Vbmi() {
#if defined(__x86_64__)
  // Asked here, not by CpuInfo: the fingerprint that keys measurements would change with it.
  return GetCpuInfo().avx512 && __builtin_cpu_supports("avx512vbmi") != 0 && RunsSimdTarget("AVX3");
#else
  return false;
#endif
}

ByteMapFunction ChooseByteMap() {
  if (RunsAvx512Vbmi()) {
    if (const ByteMapFunction vbmi = ByteMapAvx512Vbmi()) return vbmi;
  }
  return [](const ByteMapArgs& args) { HWY_DYNAMIC_DISPATCH(MapRows)(args); };
}

}  // namespace fettle::kernels
#endif
