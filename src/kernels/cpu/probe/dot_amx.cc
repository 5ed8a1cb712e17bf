// Four sums of tiles, as products of bytes and of bf16 have them.
#include "kernels/cpu/probe/dot.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/cpu/simd/amx_tiles.h"

namespace fettle::kernels {
namespace {

void ZeroFactors() {
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
}

}  // namespace

double RunDotAmx(int64_t rounds) {
  const AmxTiles tiles({});
  ZeroFactors();
  for (int64_t r = 0; r < rounds; ++r) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  return static_cast<double>(rounds) * 4 * 2 * 16 * 16 * 64;
}

double RunDotAmxBf16(int64_t rounds) {
  const AmxTiles tiles({});
  ZeroFactors();
  for (int64_t r = 0; r < rounds; ++r) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  return static_cast<double>(rounds) * 4 * 2 * 16 * 16 * 32;
}

}  // namespace fettle::kernels
#endif
