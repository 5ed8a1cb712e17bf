// compiled: unfused
// u8 times i8 with vpdpbusd: 64 products an instruction, summed in i32 without saturation.
#include "kernels/cpu/quantised/microkernel.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/quantised/requantise.h"

namespace fettle::kernels {
namespace {

/// Four vectors of sums to one of bytes, rows in registers; see RequantiseBytesAvx512.
template <int kVectors>
class TileBytes {
 public:
  static constexpr int kRows = 4 / kVectors, kColumns = kVectors * 16;

  explicit TileBytes(const RequantiseArgs& args)
      : scale_(args.scale),
        add_(args.add),
        out_(args.bytes),
        stride_(args.out_stride),
        whole_(args.columns >= kColumns),
        mask_(whole_ ? ~uint32_t{0} : (uint32_t{1} << args.columns) - 1) {
    // Signed bytes are made as unsigned ones and flipped, so that there is one form of packs.
    const int excess = args.is_signed ? 128 : 0;
    clamps_ = args.low + excess > 0 || args.high + excess < 255 || excess != 0;
    zero_ = _mm512_set1_epi16(static_cast<int16_t>(args.zero + excess));
    low_ = _mm512_set1_epi8(static_cast<char>(args.low + excess));
    high_ = _mm512_set1_epi8(static_cast<char>(args.high + excess));
    flip_ = _mm512_set1_epi8(static_cast<char>(excess));
  }

  [[gnu::always_inline]] __m512i Steps(__m512i sums, int v) const {
    return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums),
                                              _mm512_loadu_ps(scale_ + v * 16),
                                              _mm512_loadu_ps(add_ + v * 16)));
  }

  /// `rows` of the rows of x, [row][vector], to `row` and on.
  [[gnu::always_inline]] void Store(const __m512i* x, int64_t row, int rows) const {
    // Packs go by lanes of 128 bits: four columns of each vector end in one of them.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), zero_);
    const __m512i b = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), zero_);
    __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(a, b));
    if (clamps_)
      bytes = _mm512_xor_si512(_mm512_min_epu8(high_, _mm512_max_epu8(low_, bytes)), flip_);
    uint8_t* out = out_ + row * stride_;
    if constexpr (kVectors == 2) {
      StoreRow(_mm512_castsi512_si256(bytes), out);
      if (rows > 1) StoreRow(_mm512_extracti64x4_epi64(bytes, 1), out + stride_);
    } else {
      StoreRow(_mm512_castsi512_si128(bytes), out);
      if (rows > 1) StoreRow(_mm512_extracti32x4_epi32(bytes, 1), out + stride_);
      if (rows > 2) StoreRow(_mm512_extracti32x4_epi32(bytes, 2), out + 2 * stride_);
      if (rows > 3) StoreRow(_mm512_extracti32x4_epi32(bytes, 3), out + 3 * stride_);
    }
  }

 private:
  [[gnu::always_inline]] void StoreRow(__m256i row, uint8_t* out) const {
    if (whole_) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), row);
    } else {
      _mm256_mask_storeu_epi8(out, mask_, row);
    }
  }
  [[gnu::always_inline]] void StoreRow(__m128i row, uint8_t* out) const {
    if (whole_) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
    } else {
      _mm_mask_storeu_epi8(out, static_cast<__mmask16>(mask_), row);
    }
  }

  // Copies: stores of bytes might change what is read through a reference.
  const float *scale_, *add_;
  uint8_t* out_;
  int64_t stride_;
  bool whole_, clamps_;
  uint32_t mask_;  // of the columns that count
  __m512i zero_, low_, high_, flip_;
};

/// Columns of B as bytes.
template <int kVectors>
struct ByteColumns {
  static constexpr int kCount = kVectors, kStepBytes = kVectors * 64;
  static constexpr bool kLessens = kVectors == 2;
  explicit ByteColumns(const std::byte*&) {}
  [[gnu::always_inline]] __m512i Load(const std::byte* step, int v) const {
    return _mm512_loadu_si512(step + v * 64);
  }
};

/// As bits, each of which chooses one of its column's two bytes.
template <int kVectors>
struct BitColumns {
  static constexpr int kCount = kVectors, kStepBytes = kVectors * 8;
  static constexpr bool kLessens = false;
  __m512i low[kVectors];
  const std::byte*
      high;  // in the first-level cache: in registers, columns themselves had none left

  explicit BitColumns(const std::byte*& b) : high(b + kVectors * 64) {
    for (int v = 0; v < kVectors; ++v) low[v] = _mm512_loadu_si512(b + v * 64);
    b += 2 * kVectors * 64;
  }
  [[gnu::always_inline]] __m512i Load(const std::byte* step, int v) const {
    uint64_t bits;
    std::memcpy(&bits, step + v * 8, sizeof(bits));
    return _mm512_mask_loadu_epi8(low[v], bits, high + v * 64);
  }
};

template <int kVectors, typename Rows>
struct Tile;
/// Rows by kVectors * 16 columns. What is not inlined keeps the sums in memory and takes twice as
/// long, so nothing is left to the compiler.
template <int kVectors, size_t... kRow>
struct Tile<kVectors, std::index_sequence<kRow...>> {
  __m512i sums[sizeof...(kRow)][kVectors];

  [[gnu::always_inline]] static __m512i Broadcast(const std::byte* a) {
    int32_t bytes;
    std::memcpy(&bytes, a, sizeof(bytes));
    return _mm512_set1_epi32(bytes);
  }
  [[gnu::always_inline]] void StartRow(size_t r, const __m512i* init) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = init[v];
  }
  [[gnu::always_inline]] void LessenRow(size_t r, int32_t less) {
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = _mm512_sub_epi32(sums[r][v], _mm512_set1_epi32(less));
  }
  [[gnu::always_inline]] void StoreRow(size_t r, int32_t* c) {
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_si512(c + v * 16, sums[r][v]);
  }
  // Rows are unrolled by expansion: a loop over them would keep the sums in memory.
  [[gnu::always_inline]] void Start(const int32_t* init) {
    __m512i first[kVectors];
    for (int v = 0; v < kVectors; ++v)
      first[v] = init == nullptr ? _mm512_setzero_si512() : _mm512_loadu_si512(init + v * 16);
    (StartRow(kRow, first), ...);
  }
  /// Without a branch: else g++ makes a loop for each answer.
  [[gnu::always_inline]] void Lessen(const int32_t* less) {
    less = less == nullptr ? kNothingLess : less;
    (LessenRow(kRow, less[kRow]), ...);
  }
  [[gnu::always_inline]] void ScaleRow(size_t r, const __m512* scale, const __m512* add) {
    for (int v = 0; v < kVectors; ++v) {
      const __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r][v]), scale[v]);
      sums[r][v] = _mm512_castps_si512(_mm512_add_ps(x, add[v]));
    }
  }
  /// Sums to floats, in place.
  [[gnu::always_inline]] void Scale(const float* scale, const float* add) {
    __m512 factors[kVectors], addends[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      factors[v] = _mm512_loadu_ps(scale + v * 16);
      addends[v] = _mm512_loadu_ps(add + v * 16);
    }
    (ScaleRow(kRow, factors, addends), ...);
  }
  [[gnu::always_inline]] void Finish(int32_t* c, int64_t stride) {
    if (stride == 0) stride = kVectors * 16;
    (StoreRow(kRow, c + static_cast<int64_t>(kRow) * stride), ...);
  }

  /// The rows of vector `g` of bytes.
  [[gnu::always_inline]] void StoreBytes(const TileBytes<kVectors>& bytes, size_t g) {
    constexpr size_t kRows = sizeof...(kRow), kPer = TileBytes<kVectors>::kRows;
    __m512i x[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const size_t r = std::min(g * kPer + i / kVectors, kRows - 1);
      x[i] = bytes.Steps(sums[r][i % kVectors], static_cast<int>(i % kVectors));
    }
    bytes.Store(x, static_cast<int64_t>(g * kPer),
                static_cast<int>(std::min(kPer, kRows - g * kPer)));
  }
  template <size_t... kGroup>
  [[gnu::always_inline]] void FinishBytes(const RequantiseArgs& args,
                                          std::index_sequence<kGroup...>) {
    const TileBytes<kVectors> bytes(args);
    (StoreBytes(bytes, kGroup), ...);
  }
  /// kSteps steps: a row's pointer is loaded once for all of them.
  template <int kSteps, typename Columns>
  [[gnu::always_inline]] void Step(const std::byte* const* rows, int64_t offset, const Columns& of,
                                   const std::byte* b) {
    __m512i columns[kSteps][kVectors];
    for (int s = 0; s < kSteps; ++s) {
      for (int v = 0; v < kVectors; ++v) columns[s][v] = of.Load(b + s * Columns::kStepBytes, v);
    }
    const auto row = [&](size_t r, const std::byte* a) __attribute__((always_inline)) {
      for (int s = 0; s < kSteps; ++s) {
        const __m512i x = Broadcast(a + s * 4);
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], x, columns[s][v]);
      }
    };
    (row(kRow, rows[kRow] + offset), ...);
  }
};

/// The B of a later tile on its way into the second-level cache, in two streams, or
/// nothing where its step is 0.
struct Ahead {
  const std::byte* first;
  const std::byte* second;
  int64_t step;

  explicit Ahead(const QuantTileArgs& args)
      : first(args.next_b),
        second(args.next_b + args.taps * args.steps * args.next_step),
        step(args.next_step) {}
  [[gnu::always_inline]] void Fetch(int64_t steps) {
    // Else g++ makes a loop for each answer: twice the code of all tiles.
    asm("" : "+rm"(step));
    if (step == 0) return;
    _mm_prefetch(reinterpret_cast<const char*>(first), _MM_HINT_T1);
    _mm_prefetch(reinterpret_cast<const char*>(second), _MM_HINT_T1);
    first += steps * step;
    second += steps * step;
  }
};

template <int kRows, typename Columns>
void RunTile(const QuantTileArgs& args) {
  constexpr int kVectors = Columns::kCount;
  Tile<kVectors, std::make_index_sequence<kRows>> tile;
  tile.Start(args.init);
  // As many steps at once as leave registers for the sums.
  constexpr int kSteps = kVectors == 1 ? 2 : 1, kBytes = Columns::kStepBytes;
  const std::byte* b = args.b;
  const Columns columns(b);
  Ahead ahead(args);
  for (int64_t t = 0; t < args.taps; ++t) {
    const std::byte* rows[kRows];
    const bool one = args.tap_offsets != nullptr;
    const std::byte* const* a = args.a + (one ? 0 : t * kRows);
    const int64_t offset = args.a_offset + (one ? args.tap_offsets[t] : 0);
    for (int r = 0; r < kRows; ++r) rows[r] = a[r] + offset;
    int64_t s = 0;
    for (; s + kSteps <= args.steps; s += kSteps, b += kSteps * kBytes) {
      ahead.Fetch(kSteps);
      tile.template Step<kSteps>(rows, s * 4, columns, b);
    }
    for (; s < args.steps; ++s, b += kBytes) tile.template Step<1>(rows, s * 4, columns, b);
  }
  if (args.results == nullptr) {
    if constexpr (Columns::kLessens) {
      tile.Lessen(args.row_less);
      if (args.scale != nullptr) tile.Scale(args.scale, args.add);
    }
    return tile.Finish(args.c, args.c_stride);
  }
  constexpr int kPer = TileBytes<kVectors>::kRows;
  tile.FinishBytes(*args.results, std::make_index_sequence<(kRows + kPer - 1) / kPer>());
}

template <typename Columns, size_t... kRow>
constexpr QuantKernels MakeTable(const char* name, std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = name;
  table.mr = sizeof...(kRow);
  table.nr = Columns::kCount * 16;
  table.wide = false;
  table.finishes = true;
  table.lessens = table.scales = Columns::kLessens;
  ((table.tile[kRow + 1] = RunTile<kRow + 1, Columns>), ...);
  return table;
}

}  // namespace

const QuantKernels* QuantKernelsAvx512Vnni(int64_t columns) {
  static constexpr auto broad = MakeTable<ByteColumns<2>>("u8x32", std::make_index_sequence<14>());
  static constexpr auto narrow = MakeTable<ByteColumns<1>>("u8x16", std::make_index_sequence<28>());
  const int64_t vectors = (columns + 15) / 16;
  return vectors == 1 || vectors == 3 ? &narrow : &broad;
}

const QuantKernels* BitKernelsAvx512Vnni() {
  // The bytes of columns take the registers of two rows of sums.
  static constexpr QuantKernels kernels = [] {
    auto table = MakeTable<BitColumns<2>>("bits.u8x32", std::make_index_sequence<12>());
    table.bits = true;
    return table;
  }();
  return &kernels;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const QuantKernels* QuantKernelsAvx512Vnni(int64_t) { return nullptr; }
const QuantKernels* BitKernelsAvx512Vnni() { return nullptr; }
}  // namespace fettle::kernels
#endif
