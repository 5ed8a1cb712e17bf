// vpermi2b picks from 128 bytes: two of them and a blend by the index's upper bit are the table.
#include "kernels/cpu/table_lookup/byte_map.h"

#if defined(__AVX512VBMI__)
#include <immintrin.h>
#endif

namespace fettle::kernels {

#if defined(__AVX512VBMI__)
namespace {

constexpr int64_t kLanes = 64;

struct Table {
  explicit Table(const uint8_t* bytes)
      : quarter{_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64),
                _mm512_loadu_si512(bytes + 128), _mm512_loadu_si512(bytes + 192)} {}
  __m512i operator[](__m512i x) const {
    const __m512i low = _mm512_permutex2var_epi8(quarter[0], x, quarter[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarter[2], x, quarter[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
  }
  __m512i quarter[4];
};

/// The bytes as they are.
struct Same {
  __m512i operator[](__m512i x) const { return x; }
};

template <typename Map>
void RunRows(const Map& map, const ByteMapArgs& args) {
  const int64_t whole = args.columns / kLanes * kLanes;
  const auto rest = static_cast<unsigned>(args.columns - whole);
  const __mmask64 tail = (__mmask64{1} << rest) - 1;  // rest < 64
  for (int64_t r = 0; r < args.rows; ++r) {
    const uint8_t* x = args.x + r * args.x_stride;
    uint8_t* y = args.y + r * args.y_stride;
    for (int64_t c = 0; c < whole; c += kLanes)
      _mm512_storeu_si512(y + c, map[_mm512_loadu_si512(x + c)]);
    if (rest != 0) {
      const __m512i last = map[_mm512_maskz_loadu_epi8(tail, x + whole)];
      _mm512_mask_storeu_epi8(y + whole, tail, last);
    }
  }
}

void Run(const ByteMapArgs& args) {
  args.table == nullptr ? RunRows(Same(), args) : RunRows(Table(args.table), args);
}

}  // namespace

ByteMapFunction ByteMapAvx512Vbmi() { return Run; }
#else
ByteMapFunction ByteMapAvx512Vbmi() { return nullptr; }
#endif

}  // namespace fettle::kernels
