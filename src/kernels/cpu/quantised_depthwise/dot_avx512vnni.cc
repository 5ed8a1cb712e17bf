#include "kernels/cpu/quantised_depthwise/dot.h"

#if defined(__AVX512VNNI__)
#include <utility>

#include "kernels/cpu/quantised_depthwise/results_avx512.h"

namespace fettle::kernels {
namespace {

template <bool kSigned>
class DotRow {
 public:
  explicit DotRow(const DotRowArgs& args) : args_(args), results_(args) {}

  void Run() const {
    int64_t pixel = 0;
    for (; pixel + 4 <= args_.pixels; pixel += 4) RunPixels(pixel, std::make_index_sequence<4>());
    for (; pixel < args_.pixels; ++pixel) RunPixels(pixel, std::make_index_sequence<1>());
  }

 private:
  // Pixels are unrolled by expansion: a loop over them would keep the sums in memory.
  template <size_t... kPixel>
  void RunPixels(int64_t pixel, std::index_sequence<kPixel...>) const {
    const DotQuad start = DotQuad::Load(args_.init);
    DotQuad sums[sizeof...(kPixel)] = {((void)kPixel, start)...};
    const std::byte* x = args_.columns + pixel * args_.pixel_step;
    const std::byte* w = args_.weights;
    for (int64_t t = 0; t < args_.taps; ++t, w += kDotBytes) {
      const DotQuad tap = DotQuad::Load(w);
      const std::byte* at = x + args_.tap_offsets[t];
      (sums[kPixel].Add(DotQuad::Load(at + kPixel * args_.pixel_step), tap), ...);
    }
    (_mm512_mask_storeu_epi8(args_.out + (pixel + kPixel) * args_.out_step, results_.mask(),
                             results_.Bytes(sums[kPixel])),
     ...);
  }

  const DotRowArgs& args_;
  DotResults<kSigned> results_;
};

}  // namespace

void InterleaveColumns(const ColumnsArgs& args) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(args.flip));
  std::byte* out = args.out;
  for (int64_t i = 0; i < args.count; ++i, out += args.out_step) {
    const auto line = [&](int r) {
      return _mm512_xor_si512(_mm512_loadu_si512(args.lines[r] + i * args.steps[r]), flip);
    };
    DotQuad::Interleave(line(0), line(1), line(2), line(3)).Store(out);
  }
}

void RunDotRow(const DotRowArgs& args) {
  if (args.is_signed) {
    DotRow<true>(args).Run();
  } else {
    DotRow<false>(args).Run();
  }
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void InterleaveColumns(const ColumnsArgs&) {}
void RunDotRow(const DotRowArgs&) {}
}  // namespace fettle::kernels
#endif
