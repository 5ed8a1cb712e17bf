// compiled: unfused
// Sums to bytes, and the sum of these with other bytes, four vectors of sums to one of bytes: the
// saturation of the packs is most of the clamp. The operations of the graph, each of which is
// rounded, so that this file is compiled without contraction.
#include "kernels/cpu/quantised/requantise.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace fettle::kernels {
namespace {

constexpr int64_t kStrip = 16;  // columns of two vectors of sums

/// Up to kStrip columns of all rows, two rows at a time. Holds what the rows have in common: stores
/// of bytes might change anything that is read through a pointer. Signed bytes are made as unsigned
/// ones and flipped, so that there is one form of packs.
class ByteRows {
 public:
  /// The columns from `n` on. What is stored is a step plus `zero`, within [low, high], which count
  /// in unsigned bytes.
  ByteRows(const RequantiseArgs& args, int64_t n, int32_t zero, int32_t low, int32_t high)
      : sums_(args.sums + n),
        row_sums_(args.row_sums),
        w_zero_(args.w_zero + n),
        bytes_(args.bytes + n),
        shortcut_(args.shortcut == nullptr ? nullptr : args.shortcut + n),
        sums_stride_(args.sums_stride),
        out_stride_(args.out_stride),
        rows_(args.rows),
        columns_(std::min(args.columns - n, kStrip)),
        second_(columns_ > 8 ? 8 : 0),
        zero_(_mm256_set1_epi16(static_cast<int16_t>(zero))),
        low_(_mm256_set1_epi8(static_cast<int8_t>(low))),
        high_(_mm256_set1_epi8(static_cast<int8_t>(high))),
        flip_(_mm256_set1_epi8(static_cast<int8_t>(args.is_signed ? 128 : 0))) {
    for (int v = 0; v < 2; ++v) {
      scale_[v] = _mm256_loadu_ps(args.scale + n + v * second_);
      add_[v] = _mm256_loadu_ps(args.add + n + v * second_);
      init_[v] = args.init == nullptr ? _mm256_setzero_si256() : Load(args.init + n + v * second_);
    }
  }

  /// Stores to_steps(results, eight bytes of the shortcut) for all rows.
  template <typename ToSteps>
  void Run(const ToSteps& to_steps) const {
    for (int64_t row = 0; row < rows_; row += 2) {
      const int64_t second = std::min(row + 1, rows_ - 1);
      __m256i x[4];
      Steps(to_steps, row, x);
      Steps(to_steps, second, x + 2);
      const __m256i bytes = Pack(x);
      Store(_mm256_castsi256_si128(bytes), bytes_ + row * out_stride_);
      if (second != row) Store(_mm256_extracti128_si256(bytes, 1), bytes_ + second * out_stride_);
    }
  }

 private:
  static __m256i Load(const int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }

  template <typename ToSteps>
  void Steps(const ToSteps& to_steps, int64_t row, __m256i* x) const {
    const __m128i other = shortcut_ == nullptr ? _mm_setzero_si128() : Other(row);
    x[0] = to_steps(Results(row, 0), other);
    x[1] = to_steps(Results(row, 1), _mm_unpackhi_epi64(other, other));
  }

  __m256 Results(int64_t row, int v) const {
    __m256i sum = _mm256_add_epi32(Load(sums_ + row * sums_stride_ + v * second_), init_[v]);
    if (row_sums_ != nullptr) {
      sum = _mm256_sub_epi32(
          sum, _mm256_mullo_epi32(_mm256_set1_epi32(row_sums_[row]), Load(w_zero_ + v * second_)));
    }
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale_[v], add_[v]);
  }

  /// Bytes of two rows of steps, [row][vector].
  __m256i Pack(const __m256i* x) const {
    // Packs go by lanes of 128 bits: four columns of each vector end in one of them.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i a = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), zero_);
    const __m256i b = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), zero_);
    const __m256i q = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    return _mm256_xor_si256(_mm256_min_epu8(high_, _mm256_max_epu8(low_, q)), flip_);
  }

  /// The shortcut's bytes beside a row; others than its columns are 0.
  __m128i Other(int64_t row) const {
    const uint8_t* from = shortcut_ + row * out_stride_;
    if (columns_ == kStrip) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    alignas(16) uint8_t bytes[kStrip] = {};
    std::memcpy(bytes, from, columns_);
    return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
  }

  void Store(__m128i row, uint8_t* out) const {
    if (columns_ == kStrip) return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
    alignas(16) uint8_t bytes[kStrip];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), row);
    std::memcpy(out, bytes, columns_);
  }

  const int32_t* sums_;
  const int32_t *row_sums_, *w_zero_;
  uint8_t* bytes_;
  const uint8_t* shortcut_;
  int64_t sums_stride_, out_stride_, rows_, columns_;
  int64_t second_;  // the second vector of columns, or the first one again where there is no other
  __m256i zero_, low_, high_, flip_;
  __m256 scale_[2], add_[2];
  __m256i init_[2];
};

/// Results and bytes of the shortcut to steps of the sum.
template <bool kFused>
class Sum {
 public:
  explicit Sum(const RequantiseArgs& args)
      : low_(_mm256_set1_ps(static_cast<float>(args.low - args.zero))),
        high_(_mm256_set1_ps(static_cast<float>(args.high - args.zero))),
        product_scale_(_mm256_set1_ps(args.sum->a_type.scale)),
        flip_(_mm_set1_epi8(static_cast<char>(args.sum->b_type.flip))),
        zero_(_mm256_set1_ps(args.sum->b_type.zero)),
        scale_(_mm256_set1_ps(args.sum->b_type.scale)),
        sum_scale_(_mm256_set1_ps(args.sum->y_type.scale)) {
    if constexpr (kFused) {
      product_scale_ = _mm256_set1_ps(args.fused->product);
      scale_ = _mm256_set1_ps(args.fused->shortcut);
      zero_ = _mm256_set1_ps(args.fused->add);
    }
  }

  __m256i operator()(__m256 results, __m128i shortcut) const {
    const __m256 clamped = _mm256_min_ps(high_, _mm256_max_ps(low_, results));
    const __m256 a = _mm256_round_ps(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 b = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_xor_si128(shortcut, flip_)));
    if constexpr (kFused) {
      return _mm256_cvtps_epi32(
          _mm256_fmadd_ps(a, product_scale_, _mm256_fmadd_ps(b, scale_, zero_)));
    }
    const __m256 sum = _mm256_add_ps(_mm256_mul_ps(a, product_scale_),
                                     _mm256_mul_ps(_mm256_sub_ps(b, zero_), scale_));
    return _mm256_cvtps_epi32(_mm256_div_ps(sum, sum_scale_));
  }

 private:
  __m256 low_, high_, product_scale_;
  __m128i flip_;
  __m256 zero_, scale_, sum_scale_;
};

template <bool kFused>
void RunSumAs(const RequantiseArgs& args) {
  const PairRowArgs& types = *args.sum;
  const Sum<kFused> sum(args);
  for (int64_t n = 0; n < args.columns; n += kStrip) {
    const ByteRows rows(args, n, static_cast<int>(types.y_type.zero), static_cast<int>(types.low),
                        static_cast<int>(types.high));
    rows.Run(sum);
  }
}

}  // namespace

void RequantiseBytesAvx2(const RequantiseArgs& args) {
  const int excess = args.is_signed ? 128 : 0;
  for (int64_t n = 0; n < args.columns; n += kStrip) {
    const ByteRows rows(args, n, args.zero + excess, args.low + excess, args.high + excess);
    rows.Run([](__m256 results, __m128i) { return _mm256_cvtps_epi32(results); });
  }
}

void RunSumAvx2(const RequantiseArgs& args) {
  args.fused != nullptr ? RunSumAs<true>(args) : RunSumAs<false>(args);
}

}  // namespace fettle::kernels
#endif
