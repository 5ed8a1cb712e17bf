// NEON counts bits of bytes. A vector holds two words of one output, so that nothing is broadcast:
// bytes of 31 steps are summed in place, then across lanes by pairs, four outputs at once.
#include "kernels/cpu/binary/tile.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include <algorithm>
#endif

namespace fettle::kernels {

#if defined(__aarch64__)
namespace {

constexpr int kNeonPixels = 4, kNeonOutputs = 4;
/// Counts of a byte, each at most 8, that 8 bits hold.
constexpr int64_t kNeonSteps = 31;

uint8x16_t BytesOf(const uint64_t* words) { return vreinterpretq_u8_u64(vld1q_u64(words)); }
/// The upper word is 0.
uint8x16_t BytesOfOne(const uint64_t* word) {
  return vreinterpretq_u8_u64(vcombine_u64(vld1_u64(word), vdup_n_u64(0)));
}

inline void CountPixel(uint8x16_t x, const uint8x16_t (&w)[kNeonOutputs],
                       uint8x16_t (&bytes)[kNeonOutputs]) {
#pragma GCC unroll 4
  for (int o = 0; o < kNeonOutputs; ++o) bytes[o] = vaddq_u8(bytes[o], vcntq_u8(veorq_u8(x, w[o])));
}
/// Compilers would read all at one place.
inline void KeepOrder(uint8x16_t (&bytes)[kNeonOutputs], uint8x16_t& pixel) {
  __asm__ volatile(""
                   : "+w"(bytes[0]), "+w"(bytes[1]), "+w"(bytes[2]), "+w"(bytes[3]), "+w"(pixel));
}

template <int kPixels>
inline void CountStep(const uint8x16_t (&x)[kPixels], const uint8x16_t (&w)[kNeonOutputs],
                      uint8x16_t (&bytes)[kPixels][kNeonOutputs]) {
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) CountPixel(x[p], w, bytes[p]);
}

template <int kPixels>
inline void Read(const uint64_t* const (&x)[kPixels], int64_t pair, const uint64_t* w,
                 uint8x16_t (&pixels)[kPixels], uint8x16_t (&weights)[kNeonOutputs]) {
#pragma GCC unroll 4
  for (int o = 0; o < kNeonOutputs; ++o) weights[o] = BytesOf(w + 2 * o);
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) pixels[p] = BytesOf(x[p] + 2 * pair);
}

/// The word behind the last pair.
template <int kPixels>
inline void CountLast(const uint64_t* const (&x)[kPixels], int64_t pairs, const uint64_t* w,
                      uint8x16_t (&bytes)[kPixels][kNeonOutputs]) {
  uint8x16_t pixels[kPixels], weights[kNeonOutputs];
  for (int o = 0; o < kNeonOutputs; ++o) weights[o] = BytesOfOne(w + o);
  for (int p = 0; p < kPixels; ++p) pixels[p] = BytesOfOne(x[p] + 2 * pairs);
  CountStep<kPixels>(pixels, weights, bytes);
}

/// The sum of each output's bytes.
inline uint32x4_t SumsOf(const uint8x16_t (&bytes)[kNeonOutputs]) {
  const uint16x8_t first = vpaddq_u16(vpaddlq_u8(bytes[0]), vpaddlq_u8(bytes[1]));
  const uint16x8_t second = vpaddq_u16(vpaddlq_u8(bytes[2]), vpaddlq_u8(bytes[3]));
  return vpaddlq_u16(vpaddq_u16(first, second));
}

/// Outputs [first, first + kNeonOutputs) of the panel.
template <int kPixels>
void CountOutputs(const BitTileArgs& args, int64_t tile, int first) {
  uint32x4_t sums[kPixels];
  const uint64_t* x[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    sums[p] = vdupq_n_u32(0);
    x[p] = args.bases[tile * kPixels + p];
  }
  const int64_t pairs = args.count / 2;
  const uint64_t* w = args.weights + 2 * first;
  for (int64_t begin = 0; begin == 0 || begin < pairs; begin += kNeonSteps - 1) {
    const int64_t end = std::min(pairs, begin + kNeonSteps - 1);
    uint8x16_t bytes[kPixels][kNeonOutputs] = {}, pixels[kPixels], weights[kNeonOutputs];
    // What a step reads was asked for during the one before: cores that run in order would wait.
    if (begin < end) Read(x, begin, w, pixels, weights);
    for (int64_t i = begin + 1; i < end; ++i) {
      w += 2 * kBitOutputs;
      uint8x16_t next[kNeonOutputs];
#pragma GCC unroll 4
      for (int p = 0; p < kPixels; ++p) {
        CountPixel(pixels[p], weights, bytes[p]);
        pixels[p] = BytesOf(x[p] + 2 * i);
        for (int o = p * kNeonOutputs / kPixels; o < (p + 1) * kNeonOutputs / kPixels; ++o)
          next[o] = BytesOf(w + 2 * o);
        KeepOrder(bytes[p], pixels[p]);
      }
      std::copy_n(next, kNeonOutputs, weights);
    }
    if (begin < end) {
      CountStep<kPixels>(pixels, weights, bytes);
      w += 2 * kBitOutputs;
    }
    if (end == pairs && args.count % 2 != 0)
      CountLast<kPixels>(x, pairs, args.weights + pairs * 2 * kBitOutputs + first, bytes);
    for (int p = 0; p < kPixels; ++p) sums[p] = vaddq_u32(sums[p], SumsOf(bytes[p]));
  }
  for (int p = 0; p < kPixels; ++p)
    vst1q_s32(args.sums + (tile * kPixels + p) * args.stride + first,
              vreinterpretq_s32_u32(sums[p]));
}

template <int kPixels>
void Count(const BitTileArgs& args) {
  for (int64_t tile = 0; tile < args.tiles; ++tile) {
    for (int first = 0; first < kBitOutputs; first += kNeonOutputs)
      CountOutputs<kPixels>(args, tile, first);
  }
}

}  // namespace

BitTile BitTileNeon() {
  return {.pixels = kNeonPixels, .gathers = true, .whole = Count<kNeonPixels>, .single = Count<1>};
}
#else
BitTile BitTileNeon() { return {}; }
#endif

}  // namespace fettle::kernels
