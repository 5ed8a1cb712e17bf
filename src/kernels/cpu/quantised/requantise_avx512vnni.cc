#include "kernels/cpu/quantised/requantise.h"

#if defined(__AVX512VNNI__)
#include "kernels/cpu/quantised/byte_rows_avx512.h"

namespace fettle::kernels {
namespace {

template <bool kSigned>
struct RequantisedStrips {
  template <int kVectors>
  void Run(const RequantiseArgs& args, int64_t n) const {
    using Rows = ByteRows<kVectors, kSigned>;
    const Rows rows(args, n, args.zero, args.low, args.high);
    for (int64_t row = 0; row < args.rows; row += Rows::kRows) {
      __m512i x[4];
      for (int i = 0; i < 4; ++i) {
        const int64_t r = std::min(row + i / kVectors, args.rows - 1);
        x[i] = _mm512_cvtps_epi32(rows.Results(args.sums + r * args.sums_stride + n, i % kVectors));
      }
      rows.Store(rows.Pack(x), args.rows - row, args.bytes + row * args.out_stride + n,
                 args.out_stride);
    }
  }
};

}  // namespace

void RequantiseBytesAvx512(const RequantiseArgs& args) {
  if (args.is_signed) {
    ForEachStrip(args, RequantisedStrips<true>());
  } else {
    ForEachStrip(args, RequantisedStrips<false>());
  }
}

}  // namespace fettle::kernels
#endif
