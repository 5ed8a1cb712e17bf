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

constexpr int kParts = 16, kPart = 16;  // of a table, and the bytes that a shuffle picks from
constexpr bool kShufflesByFourBits = HWY_ARCH_ARM == 0;

/// What the shuffles pick from, in an order in which one subtraction leads from part to part.
/// x86's answers 0 to an index with its upper bit and takes four bits of others: an index less 16
/// for each part before has that bit from the part behind its own on, so that parts joined by xor
/// with those before them, all up to its own, leave that one. The upper half is a table of its own.
/// ARM's shuffle answers 0 to any index from 16 on: parts as they are.
class Parts {
 public:
  explicit Parts(const uint8_t* table) {
    for (int i = 0; i < kParts * kPart; ++i) {
      const bool joins = kShufflesByFourBits && i % (kParts * kPart / 2) >= kPart;
      bytes_[i] = joins ? table[i] ^ table[i - kPart] : table[i];
    }
  }

  HWY_INLINE hn::Vec<D> operator[](hn::Vec<D> x) const {
    const D d;
    if constexpr (!kShufflesByFourBits) return Sum<kParts>(bytes_, x);
    const auto upper = hn::Xor(x, hn::Set(d, uint8_t{0x80}));
    return hn::Or(Sum<kParts / 2>(bytes_, x), Sum<kParts / 2>(bytes_ + kParts / 2 * kPart, upper));
  }

 private:
  template <int kCount>
  HWY_INLINE static hn::Vec<D> Sum(const uint8_t* parts, hn::Vec<D> x) {
    const D d;
    const hn::RebindToSigned<D> i;
    const auto step = hn::Set(i, int8_t{kPart});
    auto y = hn::TableLookupBytesOr0(hn::LoadDup128(d, parts), x);
    for (int part = 1; part < kCount; ++part) {
      // Without saturation, x86's indices of the upper half would come round.
      const auto index = hn::BitCast(i, x);
      x = hn::BitCast(d,
                      kShufflesByFourBits ? hn::SaturatedSub(index, step) : hn::Sub(index, step));
      y = hn::Xor(y, hn::TableLookupBytesOr0(hn::LoadDup128(d, parts + part * kPart), x));
    }
    return y;
  }

  HWY_ALIGN uint8_t bytes_[kParts * kPart];
};

/// The bytes as they are.
struct Same {
  HWY_INLINE hn::Vec<D> operator[](hn::Vec<D> x) const { return x; }
};

template <typename Map>
void MapRowsOf(const ByteMapArgs& args, const Map& map) {
  const D d;
  for (int64_t r = 0; r < args.rows; ++r) {
    const uint8_t* x = args.x + r * args.x_stride;
    uint8_t* y = args.y + r * args.y_stride;
    int64_t c = 0;
    if constexpr (HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR) {
      for (; c + kLanes <= args.columns; c += kLanes)
        hn::StoreU(map[hn::LoadU(d, x + c)], d, y + c);
    }
    for (; c < args.columns; ++c) y[c] = args.table == nullptr ? x[c] : args.table[x[c]];
  }
}

void MapRows(const ByteMapArgs& args) {
  args.table == nullptr ? MapRowsOf(args, Same()) : MapRowsOf(args, Parts(args.table));
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(MapRows);

bool RunsAvx512Vbmi() { return GetCpuInfo().avx512_vbmi && RunsSimdTarget("AVX3"); }

ByteMapFunction ChooseByteMap() {
  if (RunsAvx512Vbmi()) {
    if (const ByteMapFunction vbmi = ByteMapAvx512Vbmi()) return vbmi;
  }
  return [](const ByteMapArgs& args) { HWY_DYNAMIC_DISPATCH(MapRows)(args); };
}

}  // namespace fettle::kernels
#endif
