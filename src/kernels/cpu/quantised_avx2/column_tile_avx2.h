// Tiles of rows by 16 columns, two 256-bit vectors of i32 sums each, or by 8 columns, whose second
// vector is of every other step. For files that are compiled with AVX2.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/requantise.h"

namespace fettle::kernels {

/// The first `count` bytes. Not inlined: it would be half of the tiles' code.
[[gnu::noinline]] inline void StorePart(__m128i x, int64_t count, uint8_t* out) {
  alignas(16) uint8_t bytes[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), x);
  std::memcpy(out, bytes, count);
}

/// Four vectors of sums to bytes; see RequantiseBytesAvx2. Signed bytes are made as unsigned ones
/// and flipped, so that there is one form of packs.
template <int kColumns>
class ColumnBytes {
 public:
  static constexpr int kRows = 32 / kColumns;  // of four vectors

  explicit ColumnBytes(const RequantiseArgs& args)
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

  /// The steps of `rows` rows from `row` on, of kRows.
  [[gnu::always_inline]] void Store(const __m256i* x, int64_t row, int rows) const {
    // Packs go by lanes of 128 bits: four columns of each vector end in one of them.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i a = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), zero_);
    const __m256i b = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), zero_);
    const __m256i q = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    const __m256i bytes = _mm256_xor_si256(_mm256_min_epu8(high_, _mm256_max_epu8(low_, q)), flip_);
    uint8_t* out = out_ + row * stride_;
    const __m128i first = _mm256_castsi256_si128(bytes);
    const __m128i second = _mm256_extracti128_si256(bytes, 1);
    if constexpr (kColumns == 16) {
      StoreRow(first, out);
      if (rows > 1) StoreRow(second, out + stride_);
    } else {
      StoreRow(first, out);
      if (rows > 1) StoreRow(_mm_unpackhi_epi64(first, first), out + stride_);
      if (rows > 2) StoreRow(second, out + 2 * stride_);
      if (rows > 3) StoreRow(_mm_unpackhi_epi64(second, second), out + 3 * stride_);
    }
  }

 private:
  [[gnu::always_inline]] void StoreRow(__m128i row, uint8_t* out) const {
    if (columns_ < kColumns) {
      StorePart(row, columns_, out);
    } else if (kColumns == 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
    } else {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out), row);
    }
  }

  // Copies: stores of bytes might change what is read through a reference.
  const float *scale_, *add_;
  uint8_t* out_;
  int64_t stride_, columns_;
  __m256i zero_, low_, high_, flip_;
};

/// B as it lies in memory.
struct WholeVectors {
  static constexpr int64_t kVectorBytes = 32;
  [[gnu::always_inline]] static __m256i LoadB(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
};

/// `Products::Add(sums, x, b)` adds the products of four bytes of a row, in each dword of x, and of
/// columns, which Products::LoadB reads from kVectorBytes.
template <typename Products, int kColumns, typename Rows>
struct ColumnTile;
template <typename Products, int kColumns, size_t... kRow>
struct ColumnTile<Products, kColumns, std::index_sequence<kRow...>> {
  static constexpr int kRows = sizeof...(kRow);
  static constexpr int kSteps = 16 / kColumns;  // that are read at once
  static constexpr int kVectors = kColumns / 8;
  static constexpr int64_t kBytes = Products::kVectorBytes;
  __m256i sums[kRows][2];

  [[gnu::always_inline]] static __m256i Load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  [[gnu::always_inline]] static __m256i Broadcast(const std::byte* a) {
    int32_t bytes;
    std::memcpy(&bytes, a, sizeof(bytes));
    return _mm256_set1_epi32(bytes);
  }

  [[gnu::always_inline]] void Start(const int32_t* init) {
    const auto first = [&](int v) {
      return init == nullptr || v >= kVectors ? _mm256_setzero_si256() : Load(init + v * 8);
    };
    ((sums[kRow][0] = first(0), sums[kRow][1] = first(1)), ...);
  }
  [[gnu::always_inline]] void StepRow(size_t r, const std::byte* a, __m256i b0, __m256i b1) {
    const __m256i x = Broadcast(a);
    sums[r][0] = Products::Add(sums[r][0], x, b0);
    sums[r][1] = Products::Add(sums[r][1], kSteps == 1 ? x : Broadcast(a + 4), b1);
  }
  /// As many pairs of steps of the only row, whose sums would wait for each other; their number.
  [[gnu::always_inline]] int64_t RunPairs(const std::byte* row, int64_t steps,
                                          const std::byte*& b) {
    ColumnTile odd;
    odd.Start(nullptr);
    int64_t s = 0;
    for (; s + 2 <= steps; s += 2, b += 4 * kBytes) {
      StepRow(0, row + s * 4, Products::LoadB(b), Products::LoadB(b + kBytes));
      odd.StepRow(0, row + s * 4 + 4, Products::LoadB(b + 2 * kBytes),
                  Products::LoadB(b + 3 * kBytes));
    }
    for (int v = 0; v < 2; ++v) sums[0][v] = _mm256_add_epi32(sums[0][v], odd.sums[0][v]);
    return s;
  }
  /// All steps of a tap.
  [[gnu::always_inline]] void RunSteps(const std::byte* const* rows, int64_t steps,
                                       const std::byte*& b, const std::byte*& next,
                                       int64_t next_step) {
    int64_t s = 0;
    if constexpr (kRows == 1 && kSteps == 1) s = RunPairs(rows[0], steps, b);
    for (; s + kSteps <= steps; s += kSteps, b += 2 * kBytes, next += next_step) {
      const __m256i b0 = Products::LoadB(b), b1 = Products::LoadB(b + kBytes);
      (StepRow(kRow, rows[kRow] + s * 4, b0, b1), ...);
      if constexpr (kRows > 2) _mm_prefetch(next, _MM_HINT_T1);
    }
    if (s == steps) return;
    const __m256i b0 = Products::LoadB(b);
    b += kBytes;
    ((sums[kRow][0] = Products::Add(sums[kRow][0], Broadcast(rows[kRow] + s * 4), b0)), ...);
  }

  /// Sums to floats, in place.
  [[gnu::always_inline]] void Scale(const float* scale, const float* add) {
    const auto scaled = [&](__m256i of, int v) __attribute__((always_inline)) {
      const __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(of), _mm256_loadu_ps(scale + v * 8));
      return _mm256_castps_si256(_mm256_add_ps(x, _mm256_loadu_ps(add + v * 8)));
    };
    ((sums[kRow][0] = scaled(sums[kRow][0], 0)), ...);
    if constexpr (kVectors == 2) ((sums[kRow][1] = scaled(sums[kRow][1], 1)), ...);
  }
  [[gnu::always_inline]] void LessenRow(size_t r, int32_t less) {
    for (__m256i& sum : sums[r]) sum = _mm256_sub_epi32(sum, _mm256_set1_epi32(less));
  }
  [[gnu::always_inline]] void StoreRow(size_t r, int32_t* c) {
    for (int v = 0; v < kVectors; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + v * 8), sums[r][v]);
  }
  [[gnu::always_inline]] void Finish(const QuantTileArgs& args, int32_t* c, const int32_t* less,
                                     int64_t stride) {
    less = less == nullptr ? kNothingLess : less;
    (LessenRow(kRow, less[kRow]), ...);
    if (args.scale != nullptr) Scale(args.scale, args.add);
    (StoreRow(kRow, c + static_cast<int64_t>(kRow) * stride), ...);
  }

  /// The rows of the four vectors `g`.
  [[gnu::always_inline]] void FinishGroup(const ColumnBytes<kColumns>& bytes, size_t g) {
    constexpr size_t kPer = ColumnBytes<kColumns>::kRows;
    __m256i x[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const size_t r = std::min<size_t>(g * kPer + i / kVectors, kRows - 1);
      x[i] = bytes.Steps(sums[r][i % kVectors], static_cast<int>(i % kVectors));
    }
    bytes.Store(x, static_cast<int64_t>(g * kPer),
                static_cast<int>(std::min(kPer, kRows - g * kPer)));
  }
  template <size_t... kGroup>
  [[gnu::always_inline]] void FinishBytes(const ColumnBytes<kColumns>& bytes,
                                          std::index_sequence<kGroup...>) {
    (FinishGroup(bytes, kGroup), ...);
  }

  static void Run(const QuantTileArgs& args) {
    constexpr int kPer = ColumnBytes<kColumns>::kRows;
    std::optional<ColumnBytes<kColumns>> bytes;
    if (args.results != nullptr) bytes.emplace(*args.results);
    const int64_t stride = args.c_stride == 0 ? kColumns : args.c_stride;
    const std::byte* const* pointers = args.a;
    const std::byte* row = args.a_step == 0 ? nullptr : *pointers + args.a_offset;
    const bool one = args.tap_offsets != nullptr;
    const std::byte* next = args.next_b == nullptr ? args.b : args.next_b;
    const int32_t* less = args.row_less;
    int32_t* c = args.c;
    for (int64_t i = 0; i < args.repeat; ++i) {
      ColumnTile tile;
      tile.Start(args.init);
      const std::byte* b = args.b;
      for (int64_t t = 0; t < args.taps; ++t) {
        const std::byte* rows[kRows];
        if (args.a_step != 0) {
          for (int r = 0; r < kRows; ++r, row += args.a_step) rows[r] = row;
        } else {
          const int64_t offset = args.a_offset + (one ? args.tap_offsets[t] : 0);
          for (int r = 0; r < kRows; ++r) rows[r] = pointers[r] + offset;
          if (!one) pointers += kRows;
        }
        tile.RunSteps(rows, args.steps, b, next, kSteps * args.next_step);
      }
      if constexpr (kVectors == 1)
        ((tile.sums[kRow][0] = _mm256_add_epi32(tile.sums[kRow][0], tile.sums[kRow][1])), ...);
      if (args.results == nullptr) {
        tile.Finish(args, c, less, stride);
        if (less != nullptr) less += kRows;
        c += kRows * stride;
      } else {
        tile.FinishBytes(*bytes, std::make_index_sequence<(kRows + kPer - 1) / kPer>());
        bytes->GoDown(kRows);
      }
    }
  }
};

template <typename Products, int kColumns, size_t... kRow>
constexpr QuantKernels MakeColumns(const char* name, std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = name;
  table.mr = sizeof...(kRow);
  table.nr = kColumns;
  table.finishes = table.repeats = table.lessens = table.scales = true;
  ((table.tile[kRow + 1] = ColumnTile<Products, kColumns, std::make_index_sequence<kRow + 1>>::Run),
   ...);
  return table;
}

}  // namespace fettle::kernels
