#include "kernels/cpu/quantised_depthwise/dot.h"

#if defined(__AVX512VNNI__)
#include "kernels/cpu/quantised_depthwise/results_avx512.h"

namespace fettle::kernels {
namespace {

/// kHalves: see DotLinesArgs.
template <bool kSigned, bool kHalves, int kStride>
class DotLines {
 public:
  explicit DotLines(const DotLinesArgs& args)
      : args_(args), flip_(_mm512_set1_epi8(static_cast<char>(args.flip))) {}

  void Run() const {
    const DotRowArgs& row = args_.row;
    const DotResults<kSigned> results(row);
    // Copies: stores of bytes might change what is read through a pointer.
    const DotQuad w0 = DotQuad::Load(row.weights), w1 = DotQuad::Load(row.weights + kDotBytes),
                  w2 = DotQuad::Load(row.weights + 2 * kDotBytes);
    const DotQuad start = DotQuad::Load(row.init);
    uint8_t *out = row.out, *second = args_.second_out;
    int64_t column = args_.first_column;
    DotQuad x0 = Column(column), x1 = Column(column + 1);
    for (int64_t pixel = 0; pixel < row.pixels; ++pixel, out += row.out_step) {
      const DotQuad x2 = Column(column + 2);
      DotQuad sums = start;
      sums.Add(x0, w0);
      sums.Add(x1, w1);
      sums.Add(x2, w2);
      if constexpr (kHalves) {
        const __m512i bytes = results.Bytes(sums);
        const auto mask = static_cast<__mmask32>(results.mask());
        _mm256_mask_storeu_epi8(out, mask, _mm512_castsi512_si256(bytes));
        if (second != nullptr) {
          _mm256_mask_storeu_epi8(second, mask, _mm512_extracti64x4_epi64(bytes, 1));
          second += row.out_step;
        }
      } else {
        _mm512_mask_storeu_epi8(out, results.mask(), results.Bytes(sums));
      }
      column += kStride;
      if constexpr (kStride == 1) {
        x0 = x1;
        x1 = x2;
      } else {
        x0 = x2;
        x1 = Column(column + 1);
      }
    }
  }

 private:
  /// Bytes of row `r` of the kernel in a column.
  __m512i Bytes(int r, int64_t column, bool inside) const {
    const auto at = [&](int line) {
      return inside ? args_.lines[line][r] + column * args_.steps[line][r] : args_.padding;
    };
    __m512i bytes;
    if constexpr (kHalves) {
      const auto half = [&](int line) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at(line)));
      };
      bytes = _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
    } else {
      bytes = _mm512_loadu_si512(at(0));
    }
    return _mm512_xor_si512(bytes, flip_);
  }

  /// The rows of a column interleaved; the fourth byte meets weights of 0.
  DotQuad Column(int64_t column) const {
    const bool inside = static_cast<uint64_t>(column) < static_cast<uint64_t>(args_.width);
    const __m512i x0 = Bytes(0, column, inside), x1 = Bytes(1, column, inside),
                  x2 = Bytes(2, column, inside);
    return DotQuad::Interleave(x0, x1, x2, x2);
  }

  const DotLinesArgs& args_;
  __m512i flip_;
};

template <bool kSigned, bool kHalves>
void RunStride(const DotLinesArgs& args) {
  if (args.stride == 1) {
    DotLines<kSigned, kHalves, 1>(args).Run();
  } else {
    DotLines<kSigned, kHalves, 2>(args).Run();
  }
}

template <bool kSigned>
void RunHalves(const DotLinesArgs& args) {
  if (args.halves) {
    RunStride<kSigned, true>(args);
  } else {
    RunStride<kSigned, false>(args);
  }
}

}  // namespace

void RunDotLines(const DotLinesArgs& args) {
  if (args.row.is_signed) {
    RunHalves<true>(args);
  } else {
    RunHalves<false>(args);
  }
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void RunDotLines(const DotLinesArgs&) {}
}  // namespace fettle::kernels
#endif
