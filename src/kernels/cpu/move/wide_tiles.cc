// compiled: by hand
#include "kernels/cpu/move/wide_tiles.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/move/wide_tiles.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
/// 16 bytes of each of several rows, `step` rows apart, side by side.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const T* from, int64_t step) {
  if constexpr (hn::MaxLanes(d) * sizeof(T) == 16) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr int64_t kBlocks = hn::MaxLanes(half) * sizeof(T) / 16;
    return hn::Combine(d, LoadBlocks(half, from + kBlocks * step, step),
                       LoadBlocks(half, from, step));
  }
}

/// One tile: 16 bytes of columns, and as many rows as a vector has elements. Each block of 16 bytes
/// is a square tile of its own: log2 rounds of interleaving the first half of its rows with the
/// second. Only the first `columns` are written.
template <typename T>
void WideTile(const void* from, int64_t src_stride, void* to, int64_t dst_stride, int64_t columns) {
  const T* src = static_cast<const T*>(from);
  T* dst = static_cast<T*>(to);
  const hn::ScalableTag<T> d;
  constexpr int kLanes = 16 / sizeof(T);
  hn::Vec<decltype(d)> rows[kLanes], next[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i)
    rows[i] = LoadBlocks(d, src + i * src_stride, kLanes * src_stride);
#pragma GCC unroll 4
  for (int round = 1; round < kLanes; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + kLanes / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + kLanes / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (i < columns) hn::StoreU(rows[i], d, dst + i * dst_stride);
  }
}

/// By tiles of elements of `bytes`.
HWY_NOINLINE int64_t Transpose(decltype(&WideTile<uint8_t>) tile, const void* from,
                               int64_t src_stride, void* to, int64_t dst_stride, int64_t rows,
                               int64_t columns, int64_t bytes, bool far) {
  const auto* src = static_cast<const char*>(from);
  auto* dst = static_cast<char*>(to);
  const int64_t lanes = 16 / bytes, line = 64 / bytes;
  const int64_t tile_rows = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<uint8_t>())) / bytes;
  // What a tile reads behind its columns lies in the next row, which the last of all has not.
  const int64_t last = (rows - 1) * src_stride + columns - std::max(columns, lanes);
  int64_t done = 0;
  while (done < rows) {
    // The last rows reach back to some that are there already.
    const int64_t left = (rows - done) / tile_rows * tile_rows;
    const int64_t block = std::min(line, std::max(tile_rows, left));
    const int64_t r0 = std::min(done, rows - block);
    if (r0 < 0 || (r0 + block - 1) * src_stride > last) break;
    for (int64_t next = 0; next < columns; next += lanes) {
      const int64_t c = std::max<int64_t>(0, std::min(next, columns - lanes));
      if (far && c % line == 0) {
        for (int64_t r = r0; r < r0 + block; ++r)
          __builtin_prefetch(src + (r * src_stride + c + line) * bytes);
      }
      if (far) {
        // The lines that the next rows end in: no prefetcher guesses what is written.
        const int64_t end = std::min(rows, r0 + 2 * block) - 1;
        for (int64_t i = c; i < std::min(columns, c + lanes); ++i)
          __builtin_prefetch(dst + (i * dst_stride + end) * bytes, 1);
      }
#pragma GCC unroll 1
      for (int64_t r = r0; r < r0 + block; r += tile_rows)
        tile(src + (r * src_stride + c) * bytes, src_stride, dst + (c * dst_stride + r) * bytes,
             dst_stride, columns - c);
    }
    done = r0 + block;
  }
  return done;
}

int64_t TransposeOnTarget(const void* src, int64_t src_stride, void* dst, int64_t dst_stride,
                          int64_t rows, int64_t columns, int64_t bytes, bool far) {
  // Lines that share sets of the cache are written from a buffer in less time.
  if (bytes != 1 && !(far && dst_stride * bytes % 2048 != 0)) return 0;
  const auto tile = bytes == 1   ? WideTile<uint8_t>
                    : bytes == 2 ? WideTile<uint16_t>
                    : bytes == 4 ? WideTile<uint32_t>
                                 : WideTile<uint64_t>;
  return Transpose(tile, src, src_stride, dst, dst_stride, rows, columns, bytes, far);
}
#else
int64_t TransposeOnTarget(const void*, int64_t, void*, int64_t, int64_t, int64_t, int64_t, bool) {
  return 0;
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(TransposeOnTarget);

int64_t TransposeWide(const void* src, int64_t src_stride, void* dst, int64_t dst_stride,
                      int64_t rows, int64_t columns, int64_t bytes, bool far) {
  return HWY_DYNAMIC_DISPATCH(TransposeOnTarget)(src, src_stride, dst, dst_stride, rows, columns,
                                                 bytes, far);
}

}  // namespace fettle::kernels
#endif
