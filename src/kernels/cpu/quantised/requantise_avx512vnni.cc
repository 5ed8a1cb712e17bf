#include "kernels/cpu/quantised/requantise.h"

#if defined(__AVX512VNNI__)
#include "kernels/cpu/quantised/byte_rows_avx512.h"

namespace fettle::kernels {
namespace {

template <bool kSigned>
struct RequantisedStrips {
  template <int kVectors, bool kWhole>
  void Run(const RequantiseArgs& args, int64_t n) const {
    const ByteRows<kVectors, kWhole, kSigned> rows(args, n, args.zero, args.low, args.high);
    rows.Run([](__m512 results, const auto&) { return _mm512_cvtps_epi32(results); });
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
