#include "kernels/cpu/quantised/rows.h"

#include <algorithm>

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised_avx2/byte_sum.h"
#include "kernels/cpu/quantised_avx2/wide_row.h"

namespace fettle::kernels {
namespace {

/// Calls f(row, tap, pointer) for each tap of each row, in order of depth.
template <typename F>
void ForEachTap(const TapRows& all, const F& f) {
  if (all.tap_offsets != nullptr) {
    for (int64_t r = 0; r < all.rows; ++r) {
      for (int64_t t = 0; t < all.taps; ++t)
        f(r, t, all.pointers[r] + all.tap_offsets[t] + all.offset);
    }
    return;
  }
  for (int64_t first = 0; first < all.rows; first += all.mr) {
    const int64_t rows = std::min<int64_t>(all.mr, all.rows - first);
    const uint8_t* const* tile = all.pointers + first * all.taps;
    for (int64_t t = 0; t < all.taps; ++t) {
      for (int64_t r = 0; r < rows; ++r) f(first + r, t, tile[t * rows + r] + all.offset);
    }
  }
}

int32_t SumBytes(const uint8_t* x, int64_t count, uint8_t flip) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i] ^ flip;
  return sum;
}

/// As WidenRowAvx2.
void WidenRow(const uint8_t* x, int64_t count, uint8_t flip, int16_t zero, int16_t* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<int16_t>(static_cast<int16_t>(x[i] ^ flip) - zero);
}

}  // namespace

void FlipBytes(const uint8_t* from, int64_t bytes, uint8_t* to) {
  for (int64_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(from[i] ^ 0x80);
}

void WidenRows(const TapRows& rows, int64_t depth, int16_t zero, int64_t stride, int16_t* out) {
  // i8 plus 128, less that of the zero point.
  const uint8_t flip = rows.is_signed ? 0x80 : 0;
  const auto from = static_cast<int16_t>(rows.is_signed ? zero + 128 : zero);
  const auto widen = RunsAvx2() ? WidenRowAvx2 : WidenRow;
  if (rows.taps == 1 && stride == depth) {
    // Rows that follow each other are one.
    for (int64_t first = 0, end = 1; first < rows.rows; first = end++) {
      const uint8_t* x = rows.pointers[first];
      while (end < rows.rows && rows.pointers[end] == x + (end - first) * depth) ++end;
      widen(x + rows.offset, (end - first) * depth, flip, from, out + first * stride);
    }
    return;
  }
  ForEachTap(rows, [&](int64_t row, int64_t tap, const uint8_t* x) {
    int16_t* wide = out + row * stride + tap * depth;
    widen(x, depth, flip, from, wide);
    if (tap + 1 == rows.taps && rows.taps * depth % 2 != 0) wide[depth] = 0;
  });
}

void SumRows(const TapRows& rows, const QuantLayout& layout, int32_t* sums) {
  std::fill_n(sums, rows.rows, 0);
  // Signed bytes are summed plus 128. `excess` is subtracted again where the caller wants i8.
  const uint8_t flip = rows.is_signed ? 0x80 : 0;
  const int64_t excess = rows.is_signed && !rows.flips ? 128 : 0;
  const auto sum_bytes = RunsAvx2() ? SumBytesAvx2 : SumBytes;
  if (layout.block() == layout.ic) {  // nothing is padded: the pixels of a tap are one run
    const int64_t all = layout.tap_depth();
    const auto too_much = static_cast<int32_t>(excess * all);
    ForEachTap(rows, [&](int64_t row, int64_t, const uint8_t* x) {
      sums[row] += sum_bytes(x, all, flip) - too_much;
    });
    return;
  }
  const int64_t block_taps = layout.block_taps(), pixels = layout.tap_pixels();
  ForEachTap(rows, [&](int64_t row, int64_t tap, const uint8_t* x) {
    const int64_t before = tap / block_taps * layout.block();
    const int64_t channels = std::min(layout.block(), layout.ic - before);
    int32_t sum = 0;
    for (int64_t p = 0; p < pixels; ++p) sum += sum_bytes(x + p * layout.block(), channels, flip);
    sums[row] += sum - static_cast<int32_t>(excess * channels * pixels);
  });
}

}  // namespace fettle::kernels
