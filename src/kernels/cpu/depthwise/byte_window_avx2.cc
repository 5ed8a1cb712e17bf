#include "kernels/cpu/depthwise/byte_window.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace fettle::kernels {
namespace {

constexpr int64_t kChannels = 16, kMostLines = 5;
constexpr int kMostTaps = 5;
/// Neighbouring outputs that share the columns that they read.
constexpr int kBlock = 4;

/// Dwords of kChannels channels as unpacked words leave them: 0 to 3 and 8 to 11, then the others.
struct Dwords {
  __m256i low, high;
};
struct Floats {
  __m256 low, high;
};

__m256 LoadHalf(const float* from) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)), _mm_loadu_ps(from + 8),
                              1);
}
Floats LoadFloats(const float* from) { return {LoadHalf(from), LoadHalf(from + 4)}; }

/// Two weights of each channel side by side; null: 0.
__m256i PairHalf(const float* a, const float* b) {
  const __m256i even = _mm256_cvtps_epi32(LoadHalf(a));
  const __m256i odd = b == nullptr ? _mm256_setzero_si256() : _mm256_cvtps_epi32(LoadHalf(b));
  return _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
}
Dwords Pair(const float* a, const float* b) {
  return {PairHalf(a, b), PairHalf(a + 4, b == nullptr ? nullptr : b + 4)};
}

/// kChannels channels of a row, from `c` on.
struct Strip {
  const DepthwiseRow* row;
  int64_t c;
  Dwords start;  // what takes the zero points of the input off
  /// For each two lines their taps in pairs; then those of a last line by twos.
  Dwords weights[kMostLines / 2 * kMostTaps + (kMostTaps + 1) / 2];

  Strip(const DepthwiseRow& of, int64_t first) : row(&of), c(first) { PairWeights(); }

  /// Goes on to a neighbouring row, which mostly meets the same weights.
  void GoTo(const DepthwiseRow& to) {
    const bool same = to.weights == row->weights && to.num_lines == row->num_lines;
    row = &to;
    if (!same) PairWeights();
  }

 private:
  /// Not inlined: there is a copy of what calls it for each kernel.
  [[gnu::noinline]] void PairWeights() {
    const int64_t taps = row->kernel_width, step = row->padded_channels;
    const float* from = row->weights + c;
    Dwords* pair = weights;
    int64_t line = 0;
    for (; line + 2 <= row->num_lines; line += 2, from += 2 * taps * step) {
      for (int64_t t = 0; t < taps; ++t) *pair++ = Pair(from + t * step, from + (taps + t) * step);
    }
    for (int64_t t = 0; line < row->num_lines && t < taps; t += 2)
      *pair++ = Pair(from + t * step, t + 1 < taps ? from + (t + 1) * step : nullptr);
    // Signed bytes are read as they are, not plus 128.
    const int excess = row->in_flip != 0 ? 128 : 0;
    const __m256i zero = _mm256_set1_epi16(static_cast<int16_t>(excess - row->in_zero));
    start.low = start.high = _mm256_setzero_si256();
    for (const Dwords* w = weights; w != pair; ++w) {
      start.low = _mm256_add_epi32(start.low, _mm256_madd_epi16(w->low, zero));
      start.high = _mm256_add_epi32(start.high, _mm256_madd_epi16(w->high, zero));
    }
  }
};

/// Sums to bytes, two pixels at a time.
class Results {
 public:
  explicit Results(const Strip& strip)
      : channels_(std::min(strip.row->channels - strip.c, kChannels)),
        bias_(LoadFloats(strip.row->bias + strip.c)),
        scale_(LoadFloats(strip.row->scale + strip.c)),
        high_(_mm256_set1_ps(strip.row->high)),
        low_(_mm256_set1_epi8(
            static_cast<char>(static_cast<int>(strip.row->low) + strip.row->out_zero))),
        zero_(_mm256_set1_epi16(static_cast<int16_t>(strip.row->out_zero))),
        flip_(_mm256_set1_epi8(static_cast<char>(strip.row->out_flip))) {}

  void Store(const Dwords& a, const Dwords& b, uint8_t* a_out, uint8_t* b_out) const {
    const __m256i packed = _mm256_max_epu8(low_, _mm256_packus_epi16(Words(a), Words(b)));
    const __m256i bytes = _mm256_xor_si256(_mm256_permute4x64_epi64(packed, 0xd8), flip_);
    StorePixel(_mm256_castsi256_si128(bytes), a_out);
    if (a_out != b_out) StorePixel(_mm256_extracti128_si256(bytes, 1), b_out);
  }

 private:
  __m256i Steps(__m256i sum, __m256 bias, __m256 scale) const {
    const __m256 x = _mm256_mul_ps(_mm256_add_ps(_mm256_cvtepi32_ps(sum), bias), scale);
    // What is too small for 32 bits becomes the smallest number of them.
    return _mm256_cvtps_epi32(_mm256_min_ps(high_, x));
  }
  __m256i Words(const Dwords& sums) const {
    const __m256i low = Steps(sums.low, bias_.low, scale_.low);
    const __m256i high = Steps(sums.high, bias_.high, scale_.high);
    return _mm256_adds_epi16(_mm256_packs_epi32(low, high), zero_);
  }
  void StorePixel(__m128i bytes, uint8_t* out) const {
    if (channels_ == kChannels) return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
    alignas(16) uint8_t all[kChannels];
    _mm_store_si128(reinterpret_cast<__m128i*>(all), bytes);
    std::memcpy(out, all, channels_);
  }

  int64_t channels_;
  Floats bias_, scale_;
  __m256 high_;
  __m256i low_, zero_, flip_;
};

/// Neighbouring outputs of a strip.
template <int kTaps, int kStride, bool kSigned>
struct Window {
  static constexpr int kOutputs = kBlock;
  static constexpr int kColumns = (kOutputs - 1) * kStride + kTaps;
  using Columns = std::make_integer_sequence<int, kColumns>;

  /// Whether an output meets column kAt with tap kTap.
  template <int kAt, int kTap>
  static constexpr bool kMeets = kAt >= kTap && (kAt - kTap) % kStride == 0 &&
                                 (kAt - kTap) / kStride < kOutputs&& kTap < kTaps;

  /// Two arrays of vectors: g++ keeps those in registers, where pairs go through memory.
  __m256i low[kOutputs], high[kOutputs];

  template <int... kOutput>
  [[gnu::always_inline]] void Start(const Dwords& start, std::integer_sequence<int, kOutput...>) {
    ((low[kOutput] = start.low), ...);
    ((high[kOutput] = start.high), ...);
  }
  template <int kAt, int kTap>
  [[gnu::always_inline]] void AddTap(const Dwords& x, const Dwords& w) {
    if constexpr (kMeets<kAt, kTap>) {
      constexpr int kOutput = (kAt - kTap) / kStride;
      low[kOutput] = _mm256_add_epi32(low[kOutput], _mm256_madd_epi16(x.low, w.low));
      high[kOutput] = _mm256_add_epi32(high[kOutput], _mm256_madd_epi16(x.high, w.high));
    }
  }
  /// Words `a` and `b` of column kAt, which weights of the taps 0, kEach, 2 * kEach ... meet.
  template <int kAt, int kEach>
  [[gnu::always_inline]] void Add(__m256i a, __m256i b, const Dwords* w) {
    const Dwords x = {_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)};
    AddTap<kAt, 0>(x, w[0]);
    AddTap<kAt, kEach>(x, w[1]);
    AddTap<kAt, 2 * kEach>(x, w[2]);
    if constexpr (kEach == 1 && kTaps > 3) {
      AddTap<kAt, 3>(x, w[3]);
      AddTap<kAt, 4>(x, w[4]);
    }
  }

  /// `at` are the lines' first columns, `step` bytes apart.
  template <int... kAt>
  [[gnu::always_inline]] void Sum(const Strip& strip, const uint8_t* const* at, int64_t step,
                                  std::integer_sequence<int, kAt...>) {
    const auto load = [&](const uint8_t* from) __attribute__((always_inline)) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      return kSigned ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
    };
    const Dwords* w = strip.weights;
    int64_t line = 0;
    for (; line + 2 <= strip.row->num_lines; line += 2, w += kTaps) {
      const uint8_t *a = at[line], *b = at[line + 1];
      ((Add<kAt, 1>(load(a), load(b), w), a += step, b += step), ...);
    }
    if (line == strip.row->num_lines) return;
    const uint8_t* from = at[line];
    __m256i x = load(from);
    const auto add = [&]<int kColumn>(std::integral_constant<int, kColumn>)
        __attribute__((always_inline)) {
      const __m256i before = x;
      // Behind the last column follows what weights of 0 meet.
      if constexpr (kColumn + 1 < kColumns) x = load(from += step);
      if constexpr (kMeets<kColumn, 0> || kMeets<kColumn, 2> || kMeets<kColumn, 4>)
        Add<kColumn, 2>(before, x, w);
    };
    (add(std::integral_constant<int, kAt>()), ...);
  }

  /// Outputs from `ow` on.
  static void Run(const Strip& strip, const Results& results, int64_t ow) {
    const DepthwiseRow& row = *strip.row;
    const int64_t first = ow * kStride - row.pad;
    const uint8_t* lines[kMostLines];
    uint8_t columns[kMostLines * kColumns * kChannels];
    int64_t step = row.in_pixel;
    if (first >= 0 && first + kColumns <= row.in_width) {
      for (int64_t line = 0; line < row.num_lines; ++line)
        lines[line] = reinterpret_cast<const uint8_t*>(row.lines[line]) + first * step + strip.c;
    } else {
      CopyColumns(strip, first, columns, lines);
      step = kChannels;
    }
    Window window;
    window.Start(strip.start, std::make_integer_sequence<int, kOutputs>());
    window.Sum(strip, lines, step, Columns());
    auto* out = reinterpret_cast<uint8_t*>(row.out) + ow * row.out_pixel + strip.c;
    window.StorePairs(results, out, row.out_pixel,
                      std::make_integer_sequence<int, (kOutputs + 1) / 2>());
  }

  template <int... kPair>
  [[gnu::always_inline]] void StorePairs(const Results& results, uint8_t* out, int64_t step,
                                         std::integer_sequence<int, kPair...>) const {
    const auto store = [&]<int kFirst>(std::integral_constant<int, kFirst>)
        __attribute__((always_inline)) {
      constexpr int kSecond = std::min(kFirst + 1, kOutputs - 1);
      results.Store({low[kFirst], high[kFirst]}, {low[kSecond], high[kSecond]}, out + kFirst * step,
                    out + kSecond * step);
    };
    (store(std::integral_constant<int, 2 * kPair>()), ...);
  }

  /// The columns from `first` on, those beside the lines too.
  static void CopyColumns(const Strip& strip, int64_t first, uint8_t* columns,
                          const uint8_t** lines) {
    const DepthwiseRow& row = *strip.row;
    const auto load = [](const std::byte* from) __attribute__((always_inline)) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    };
    const __m128i outside = load(row.zeros + strip.c);
    // Those within the lines.
    const int64_t begin = std::clamp<int64_t>(-first, 0, kColumns);
    const int64_t end = std::clamp<int64_t>(row.in_width - first, begin, kColumns);
    for (int64_t line = 0; line < row.num_lines; ++line) {
      lines[line] = columns;
      const std::byte* const from = row.lines[line] + strip.c;
      const auto put = [&](__m128i bytes) __attribute__((always_inline)) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(columns), bytes);
        columns += kChannels;
      };
      for (int64_t i = 0; i < begin; ++i) put(outside);
      for (int64_t i = begin; i < end; ++i) put(load(from + (first + i) * row.in_pixel));
      for (int64_t i = end; i < kColumns; ++i) put(outside);
    }
  }
};

/// A strip of all rows, then the next one: weights are paired once.
template <int kTaps, int kStride, bool kSigned>
void RunRows(std::span<const DepthwiseRow> rows) {
  const int64_t last = rows[0].out_width - kBlock;
  for (int64_t c = 0; c < rows[0].channels; c += kChannels) {
    Strip strip(rows[0], c);
    const Results results(strip);
    for (const DepthwiseRow& row : rows) {
      strip.GoTo(row);
      // The last block overlaps the one before: it writes the same values again.
      for (int64_t ow = 0; ow < last + kBlock; ow += kBlock)
        Window<kTaps, kStride, kSigned>::Run(strip, results, std::min(ow, last));
    }
  }
}

template <bool kSigned>
auto FindRows(const DepthwiseRow& row) {
  if (row.kernel_width == 3)
    return row.stride == 1 ? RunRows<3, 1, kSigned> : RunRows<3, 2, kSigned>;
  return row.stride == 1 ? RunRows<5, 1, kSigned> : RunRows<5, 2, kSigned>;
}

/// Rows whose lines stay in the first-level cache until the next strip reads the same cache lines.
size_t RowsTogether(const DepthwiseRow& row) {
  constexpr int64_t kCache = 32 * 1024, kCacheLine = 64;
  const int64_t lines = kCache / (kCacheLine * std::max<int64_t>(row.in_width, 1));
  return std::max<int64_t>((lines - row.num_lines) / row.stride, 0) + 1;
}

}  // namespace

bool TakesByteWindow(const DepthwiseRow& row) {
  return row.form == DepthwiseForm::kBytes && (row.kernel_width == 3 || row.kernel_width == 5) &&
         row.dilation == 1 && (row.stride == 1 || row.stride == 2) && row.num_lines <= kMostLines &&
         row.channels >= kChannels && row.out_width >= kBlock;
}

void RunByteWindows(std::span<const DepthwiseRow> rows) {
  const DepthwiseRow& row = rows[0];
  const auto run = row.in_flip != 0 ? FindRows<true>(row) : FindRows<false>(row);
  const size_t together = RowsTogether(row);
  for (size_t i = 0; i < rows.size(); i += together)
    run(rows.subspan(i, std::min(together, rows.size() - i)));
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
bool TakesByteWindow(const DepthwiseRow&) { return false; }
void RunByteWindows(std::span<const DepthwiseRow>) {}
}  // namespace fettle::kernels
#endif
