// Tiles of rows by 16 columns, two 256-bit vectors of i32 sums each. For files that are compiled
// with AVX2.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/requantise.h"

namespace fettle::kernels {

/// Sums of two rows to bytes; see RequantiseBytesAvx2. Signed bytes are made as unsigned ones and
/// flipped, so that there is one form of packs.
class Columns16Bytes {
 public:
  explicit Columns16Bytes(const RequantiseArgs& args)
      : scale_(args.scale),
        add_(args.add),
        out_(args.bytes),
        stride_(args.out_stride),
        columns_(args.columns) {
    const int excess = args.is_signed ? 128 : 0;
    zero_ = _mm256_set1_epi16(static_cast<int16_t>(args.zero + excess));
    low_ = _mm256_set1_epi8(static_cast<char>(args.low + excess));
    high_ = _mm256_set1_epi8(static_cast<char>(args.high + excess));
    flip_ = _mm256_set1_epi8(static_cast<char>(excess));
  }

  /// Goes to the tile that lies `rows` rows below.
  [[gnu::always_inline]] void GoDown(int64_t rows) { out_ += rows * stride_; }

  /// Eight sums of vector `v` of a row.
  [[gnu::always_inline]] __m256i Steps(__m256i sums, int v) const {
    return _mm256_cvtps_epi32(_mm256_fmadd_ps(
        _mm256_cvtepi32_ps(sums), _mm256_loadu_ps(scale_ + v * 8), _mm256_loadu_ps(add_ + v * 8)));
  }

  /// The steps of `row` and, where there is a second one, of the next.
  [[gnu::always_inline]] void Store(const __m256i* x, int64_t row, bool second) const {
    // Packs go by lanes of 128 bits: four columns of each vector end in one of them.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i a = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), zero_);
    const __m256i b = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), zero_);
    const __m256i q = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    const __m256i bytes = _mm256_xor_si256(_mm256_min_epu8(high_, _mm256_max_epu8(low_, q)), flip_);
    uint8_t* out = out_ + row * stride_;
    StoreRow(_mm256_castsi256_si128(bytes), out);
    if (second) StoreRow(_mm256_extracti128_si256(bytes, 1), out + stride_);
  }

 private:
  [[gnu::always_inline]] void StoreRow(__m128i row, uint8_t* out) const {
    if (columns_ >= 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
    alignas(16) uint8_t bytes[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), row);
    std::memcpy(out, bytes, columns_);
  }

  // Copies: stores of bytes might change what is read through a reference.
  const float *scale_, *add_;
  uint8_t* out_;
  int64_t stride_, columns_;
  __m256i zero_, low_, high_, flip_;
};

/// `Products::Add(sums, x, b)` adds the products of four bytes of a row, in each dword of x, and of
/// columns.
template <typename Products, int kRows, typename Rows>
struct Columns16;
template <typename Products, int kRows, size_t... kRow>
struct Columns16<Products, kRows, std::index_sequence<kRow...>> {
  __m256i low[kRows], high[kRows];

  [[gnu::always_inline]] void StepRow(size_t r, const std::byte* a, __m256i b0, __m256i b1) {
    int32_t bytes;
    std::memcpy(&bytes, a, sizeof(bytes));
    const __m256i x = _mm256_set1_epi32(bytes);
    low[r] = Products::Add(low[r], x, b0);
    high[r] = Products::Add(high[r], x, b1);
  }
  [[gnu::always_inline]] void LessenRow(size_t r, int32_t less) {
    low[r] = _mm256_sub_epi32(low[r], _mm256_set1_epi32(less));
    high[r] = _mm256_sub_epi32(high[r], _mm256_set1_epi32(less));
  }
  [[gnu::always_inline]] void Start(const int32_t* init) {
    const auto first = [&](int v) {
      return init == nullptr ? _mm256_setzero_si256()
                             : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(init + v * 8));
    };
    ((low[kRow] = first(0)), ...);
    ((high[kRow] = first(1)), ...);
  }
  [[gnu::always_inline]] void Step(const std::byte* const* rows, int64_t offset,
                                   const std::byte* b) {
    const __m256i b0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i b1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32));
    (StepRow(kRow, rows[kRow] + offset, b0, b1), ...);
  }
  /// Sums to floats, in place.
  [[gnu::always_inline]] void Scale(const float* scale, const float* add) {
    const auto scaled = [&](__m256i sums, int v) __attribute__((always_inline)) {
      const __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_loadu_ps(scale + v * 8));
      return _mm256_castps_si256(_mm256_add_ps(x, _mm256_loadu_ps(add + v * 8)));
    };
    ((low[kRow] = scaled(low[kRow], 0), high[kRow] = scaled(high[kRow], 1)), ...);
  }
  [[gnu::always_inline]] void Finish(const QuantTileArgs& args, int32_t* c, const int32_t* less) {
    const int64_t stride = args.c_stride == 0 ? 16 : args.c_stride;
    less = less == nullptr ? kNothingLess : less;
    (LessenRow(kRow, less[kRow]), ...);
    if (args.scale != nullptr) Scale(args.scale, args.add);
    ((_mm256_storeu_si256(reinterpret_cast<__m256i*>(c + static_cast<int64_t>(kRow) * stride),
                          low[kRow]),
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + static_cast<int64_t>(kRow) * stride + 8),
                          high[kRow])),
     ...);
  }
  [[gnu::always_inline]] void FinishPair(const Columns16Bytes& bytes, size_t r) {
    const size_t second = std::min<size_t>(r + 1, kRows - 1);
    const __m256i x[4] = {bytes.Steps(low[r], 0), bytes.Steps(high[r], 1),
                          bytes.Steps(low[second], 0), bytes.Steps(high[second], 1)};
    bytes.Store(x, static_cast<int64_t>(r), second != r);
  }
  template <size_t... kPair>
  [[gnu::always_inline]] void FinishBytes(const Columns16Bytes& bytes,
                                          std::index_sequence<kPair...>) {
    (FinishPair(bytes, 2 * kPair), ...);
  }
  using Pairs = std::make_index_sequence<(kRows + 1) / 2>;

  /// Calls finish(tile) for each of several tiles.
  template <typename Finish>
  [[gnu::always_inline]] static void RunEach(const QuantTileArgs& args, const Finish& finish) {
    const std::byte* a = *args.a + args.a_offset;
    const std::byte* next = args.next_b;
    const int64_t steps = args.steps, next_step = args.next_step;
    for (int64_t i = 0; i < args.repeat; ++i) {
      Columns16 tile;
      tile.Start(args.init);
      const std::byte* rows[kRows];
      for (int r = 0; r < kRows; ++r, a += args.a_step) rows[r] = a;
      const std::byte* b = args.b;
      for (int64_t s = 0; s < steps; ++s, b += 64, next += next_step) {
        tile.Step(rows, s * 4, b);
        _mm_prefetch(next, _MM_HINT_T1);
      }
      finish(tile);
    }
  }
  static void RunMany(const QuantTileArgs& args) {
    if (args.results == nullptr) {
      const int64_t step = kRows * (args.c_stride == 0 ? 16 : args.c_stride);
      int32_t* c = args.c;
      const int32_t* less = args.row_less;
      return RunEach(
          args, [&](Columns16 & tile) __attribute__((always_inline)) {
            tile.Finish(args, c, less);
            if (less != nullptr) less += kRows;
            c += step;
          });
    }
    Columns16Bytes bytes(*args.results);
    RunEach(
        args, [&](Columns16 & tile) __attribute__((always_inline)) {
          tile.FinishBytes(bytes, Pairs());
          bytes.GoDown(kRows);
        });
  }

  static void Run(const QuantTileArgs& args) {
    if (args.a_step != 0) return RunMany(args);
    Columns16 tile;
    tile.Start(args.init);
    const std::byte* b = args.b;
    const int64_t steps = args.steps;
    for (int64_t t = 0; t < args.taps; ++t) {
      const std::byte* rows[kRows];
      const bool one = args.tap_offsets != nullptr;
      const std::byte* const* a = args.a + (one ? 0 : t * kRows);
      const int64_t offset = args.a_offset + (one ? args.tap_offsets[t] : 0);
      for (int r = 0; r < kRows; ++r) rows[r] = a[r] + offset;
      for (int64_t s = 0; s < steps; ++s, b += 64) tile.Step(rows, s * 4, b);
    }
    if (args.results == nullptr) return tile.Finish(args, args.c, args.row_less);
    tile.FinishBytes(Columns16Bytes(*args.results), Pairs());
  }
};

template <typename Products, size_t... kRow>
constexpr QuantKernels MakeColumns16(const char* name, std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = name;
  table.mr = sizeof...(kRow);
  table.nr = 16;
  table.finishes = table.repeats = table.lessens = table.scales = true;
  ((table.tile[kRow + 1] = Columns16<Products, kRow + 1, std::make_index_sequence<kRow + 1>>::Run),
   ...);
  return table;
}

}  // namespace fettle::kernels
