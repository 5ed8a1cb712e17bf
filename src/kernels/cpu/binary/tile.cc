#include "kernels/cpu/binary/tile.h"

#include <algorithm>
#include <bit>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/tile.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Pixels of a tile: their counts of bytes stay in registers.
constexpr int kTilePixels = 4;

#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR

template <int kPixels>
void CountTile(const BitTileArgs& args, int64_t tile) {
  int32_t* sums = args.sums + tile * kPixels * args.stride;
  for (int p = 0; p < kPixels; ++p) std::fill_n(sums + p * args.stride, kBitOutputs, 0);
  const uint64_t* w = args.weights;
  for (int64_t i = 0; i < args.count; ++i, w += kBitOutputs) {
    for (int p = 0; p < kPixels; ++p) {
      const uint64_t x = args.bases[tile * kPixels + p][args.steps[i]];
      for (int o = 0; o < kBitOutputs; ++o) sums[p * args.stride + o] += std::popcount(x ^ w[o]);
    }
  }
}

#else

using D8 = hn::ScalableTag<uint8_t>;
using D64 = hn::ScalableTag<uint64_t>;
constexpr int kLanes = HWY_LANES(uint64_t) < kBitOutputs ? HWY_LANES(uint64_t) : kBitOutputs;
constexpr int kVectors = kBitOutputs / kLanes;
/// Counts of a byte, each at most 8, that 8 bits hold.
constexpr int kStepsOfBytes = 31;

/// Adds the differing bits of a tile by byte to those by output.
template <int kPixels>
HWY_INLINE void Flush(hn::Vec<D8> (&bytes)[kPixels][kVectors],
                      hn::Vec<D64> (&sums)[kPixels][kVectors]) {
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      sums[p][v] = hn::Add(sums[p][v], hn::SumsOf8(bytes[p][v]));
      bytes[p][v] = hn::Zero(D8());
    }
  }
}

template <int kPixels>
void CountTile(const BitTileArgs& args, int64_t tile) {
  const D8 d8;
  const D64 d64;
  hn::Vec<D8> bytes[kPixels][kVectors];
  hn::Vec<D64> sums[kPixels][kVectors];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      sums[p][v] = hn::Zero(d64);
      bytes[p][v] = hn::Zero(d8);
    }
  }
  const uint64_t* bases[kPixels];
  for (int p = 0; p < kPixels; ++p) bases[p] = args.bases[tile * kPixels + p];
  const uint64_t* w = args.weights;
  for (int64_t begin = 0; begin < args.count; begin += kStepsOfBytes) {
    const int64_t end = std::min(args.count, begin + kStepsOfBytes);
    for (int64_t i = begin; i < end; ++i, w += kBitOutputs) {
      const int64_t step = args.steps[i];
      for (int v = 0; v < kVectors; ++v) {
        const auto weights = hn::Load(d64, w + v * kLanes);
        for (int p = 0; p < kPixels; ++p) {
          const auto differ = hn::BitCast(d8, hn::Xor(hn::Set(d64, bases[p][step]), weights));
          bytes[p][v] = hn::Add(bytes[p][v], hn::PopulationCount(differ));
        }
      }
    }
    Flush(bytes, sums);
  }
  HWY_ALIGN uint64_t outputs[kBitOutputs];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[p][v], d64, outputs + v * kLanes);
    for (int o = 0; o < kBitOutputs; ++o)
      args.sums[(tile * kPixels + p) * args.stride + o] = static_cast<int32_t>(outputs[o]);
  }
}

#endif

void CountBits(const BitTileArgs& args) {
  for (int64_t tile = 0; tile < args.tiles; ++tile) CountTile<kTilePixels>(args, tile);
}
void CountBitsOfOne(const BitTileArgs& args) {
  for (int64_t tile = 0; tile < args.tiles; ++tile) CountTile<1>(args, tile);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(CountBits);
HWY_EXPORT(CountBitsOfOne);

bool HasVpopcntdq() { return GetCpuInfo().avx512_vpopcntdq; }

namespace {

constexpr int kHighwayPixels = 4;

}  // namespace

BitTile ChooseBitTile() {
  if (RunsSimdTarget("AVX3") && HasVpopcntdq()) {
    if (const BitTile tile = BitTileAvx512Vpopcntdq(); tile.whole != nullptr) return tile;
  }
  if (RunsSimdTarget("NEON")) {
    if (const BitTile tile = BitTileNeon(); tile.whole != nullptr) return tile;
  }
  return {.pixels = kHighwayPixels,
          .whole =
              [](const BitTileArgs& args) {
                HWY_DYNAMIC_DISPATCH(CountBits)
                (args);
              },
          .single =
              [](const BitTileArgs& args) {
                HWY_DYNAMIC_DISPATCH(CountBitsOfOne)
                (args);
              }};
}

}  // namespace fettle::kernels
#endif
