#include "kernels/cpu/shuffle/stacked_lines.h"

#if defined(__AVX512VBMI__)
#include <immintrin.h>

#include <algorithm>
#endif

namespace fettle::kernels {

#if defined(__AVX512VBMI__)
namespace {

void Run(const StackedOrder& order, const StackedLinesArgs& args) {
  const __m512i zero = _mm512_set1_epi8(static_cast<char>(args.zero));
  const __m512i places = _mm512_loadu_si512(order.places);
  const int64_t step = order.pixels, count = order.count, pixel_bytes = order.pixel_bytes;
  for (int64_t x = 0; x < args.pixels; x += step) {
    __m512i stacked = zero;
    for (int64_t i = 0; i < count; ++i) {
      if (args.lines[i] == nullptr) continue;
      const __m512i line = _mm512_loadu_si512(args.lines[i] + x * pixel_bytes);
      stacked = _mm512_mask_permutexvar_epi8(stacked, order.of_line[i], places, line);
    }
    const int64_t bytes = std::min(step, args.pixels - x) * count * pixel_bytes;
    _mm512_mask_storeu_epi8(args.out + x * count * pixel_bytes, ~uint64_t{0} >> (64 - bytes),
                            stacked);
  }
}

}  // namespace

StackLines StackLinesAvx512Vbmi() { return Run; }
#else
StackLines StackLinesAvx512Vbmi() { return nullptr; }
#endif

}  // namespace fettle::kernels
