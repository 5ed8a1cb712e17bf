// Transposing a matrix in registers, tile by tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/cpu/move/wide_tiles.h"

namespace fettle::kernels {

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(16)));
};

/// The low (or high) halves of two vectors, interleaved.
template <typename T, int kOffset, size_t... kLane>
typename VectorOf<T>::Type Interleave(typename VectorOf<T>::Type a, typename VectorOf<T>::Type b,
                                      std::index_sequence<kLane...>) {
  constexpr int kLanes = sizeof...(kLane);
  return __builtin_shufflevector(
      a, b, (static_cast<int>(kLane % 2) * kLanes + static_cast<int>(kLane / 2) + kOffset)...);
}

/// One square tile of 16 / sizeof(T) rows: log2 rounds of interleaving the first half of the rows
/// with the second (a perfect shuffle of the element index per round). Of a tile at an edge only
/// the first `height` rows are read, and stand for the others; only `columns` are written.
template <typename T>
inline void TransposeTile(const T* src, int64_t src_stride, T* dst, int64_t dst_stride,
                          size_t height = 16 / sizeof(T), size_t columns = 16 / sizeof(T)) {
  constexpr size_t kLanes = 16 / sizeof(T);
  using V = typename VectorOf<T>::Type;
  V rows[kLanes], next[kLanes];
  // A loop of as many rounds as there are rows would keep them in memory.
  for (size_t i = 0; i < kLanes; ++i) {
    const size_t row = i < height ? i : height - 1;
    std::memcpy(&rows[i], src + static_cast<int64_t>(row) * src_stride, sizeof(V));
  }
  for (size_t round = 1; round < kLanes; round *= 2) {
    for (size_t i = 0; i < kLanes / 2; ++i) {
      constexpr auto kSequence = std::make_index_sequence<kLanes>();
      next[2 * i] = Interleave<T, 0>(rows[i], rows[i + kLanes / 2], kSequence);
      next[2 * i + 1] =
          Interleave<T, static_cast<int>(kLanes / 2)>(rows[i], rows[i + kLanes / 2], kSequence);
    }
    for (size_t i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
  for (size_t i = 0; i < columns; ++i)
    std::memcpy(dst + static_cast<int64_t>(i) * dst_stride, &rows[i], sizeof(V));
}

/// A matrix of few rows: kRows streams become one. The compiler makes shuffles of the constant
/// stride.
template <int kRows, typename T>
void InterleaveStreams(const T* src, int64_t src_stride, T* dst, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int r = 0; r < kRows; ++r)
      std::memcpy(dst + c * kRows + r, src + r * src_stride + c, sizeof(T));
  }
}

/// A matrix of few columns: one stream becomes kColumns.
template <int kColumns, typename T>
void DeinterleaveStream(const T* src, T* dst, int64_t dst_stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int c = 0; c < kColumns; ++c)
      std::memcpy(dst + c * dst_stride + r, src + r * kColumns + c, sizeof(T));
  }
}

/// Runs one of the two above where the matrix is dense and has 2, 3 or 4 rows or columns.
template <typename T>
bool TransposeNarrow(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t rows,
                     int64_t columns) {
  if (dst_stride == rows) {
    switch (rows) {
      case 2: InterleaveStreams<2>(src, src_stride, dst, columns); return true;
      case 3: InterleaveStreams<3>(src, src_stride, dst, columns); return true;
      case 4: InterleaveStreams<4>(src, src_stride, dst, columns); return true;
      default: break;
    }
  }
  if (src_stride == columns) {
    switch (columns) {
      case 2: DeinterleaveStream<2>(src, dst, dst_stride, rows); return true;
      case 3: DeinterleaveStream<3>(src, dst, dst_stride, rows); return true;
      case 4: DeinterleaveStream<4>(src, dst, dst_stride, rows); return true;
      default: break;
    }
  }
  return false;
}

/// A whole block of 64 bytes by 64 bytes of elements, through a buffer: each line of either side is
/// touched once, so lines that fall into one cache set (see FillsSets) do not push each other out
/// half done.
template <typename T>
void TransposeBlock(const T* src, int64_t src_stride, T* dst, int64_t dst_stride) {
  constexpr int64_t kTile = 16 / sizeof(T);
  constexpr int64_t kBlock = 64 / sizeof(T);
  alignas(64) T buffer[kBlock * kBlock];
  for (int64_t r = 0; r < kBlock; r += kTile) {
    for (int64_t c = 0; c < kBlock; c += kTile)
      TransposeTile(src + r * src_stride + c, src_stride, buffer + c * kBlock + r, kBlock);
  }
  for (int64_t c = 0; c < kBlock; ++c) std::memcpy(dst + c * dst_stride, buffer + c * kBlock, 64);
}

/// Whether the lines of a block, `stride` bytes apart, fall into so few sets of the first-level
/// cache that these cannot hold them.
constexpr bool FillsSets(int64_t stride) { return stride % 2048 == 0; }

/// Matrices over this many bytes come from beyond the first-level cache.
constexpr int64_t kNearMatrix = 128 << 10;

/// Asks for the lines of a block that is written next; no prefetcher guesses them.
template <typename T>
void PrefetchBlock(T* dst, int64_t dst_stride) {
  for (size_t c = 0; c < 64 / sizeof(T); ++c)
    __builtin_prefetch(dst + static_cast<int64_t>(c) * dst_stride, 1);
}

/// Asks for the lines of `rows` rows, `stride` bytes apart, that are read next: they are more than
/// prefetchers follow.
[[gnu::noinline]] inline void PrefetchRows(const void* src, int64_t stride, int64_t rows) {
  const char* line = static_cast<const char*>(src);
#pragma GCC unroll 1
  for (; rows > 0; --rows, line += stride) __builtin_prefetch(line);
}

/// Element by element: rows [r0, r1) of the columns [c0, c1).
template <typename T>
void TransposeEdge(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t r0,
                   int64_t r1, int64_t c0, int64_t c1) {
  for (int64_t c = c0; c < c1; ++c) {
    for (int64_t r = r0; r < r1; ++r)
      std::memcpy(dst + c * dst_stride + r, src + r * src_stride + c, sizeof(T));
  }
}

/// The columns from c0 on, fewer than a tile has, of rows [r0, r1): a tile reads what follows them
/// in the next row, which the last of all `rows` have not.
template <typename T>
void TransposeLastColumns(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t r0,
                          int64_t r1, int64_t c0, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 16 / sizeof(T);
  const int64_t end = (rows - 1) * src_stride + columns;
  for (; r0 < r1 && (r0 + kTile - 1) * src_stride + c0 + kTile <= end; r0 += kTile)
    TransposeTile(src + r0 * src_stride + c0, src_stride, dst + c0 * dst_stride + r0, dst_stride,
                  kTile, static_cast<size_t>(columns - c0));
  TransposeEdge(src, src_stride, dst, dst_stride, r0, r1, c0, columns);
}

/// Few rows that become columns without gaps. The last tile reaches back to rows that are there
/// already; where there is no whole one, what is left over of a tile is written, too, and
/// overwritten by the next column. True where that was done.
template <typename T>
bool TransposeFewRows(const T* src, int64_t src_stride, T* dst, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 16 / sizeof(T);
  if (rows >= 4 * kTile || rows % kTile == 0 || columns < kTile) return false;
  int64_t c = 0;
  for (; (c + kTile - 1) * rows + kTile <= rows * columns && c + kTile <= columns; c += kTile) {
    if (rows < kTile) {
      TransposeTile(src + c, src_stride, dst + c * rows, rows, static_cast<size_t>(rows));
      continue;
    }
    for (int64_t next = 0; next < rows; next += kTile) {
      const int64_t r = next + kTile <= rows ? next : rows - kTile;
      TransposeTile(src + r * src_stride + c, src_stride, dst + c * rows + r, rows);
    }
  }
  TransposeEdge(src, src_stride, dst, rows, 0, rows, c, columns);
  return true;
}

/// Whole tiles of `rows` rows and columns [c0, c1), written where they belong.
template <typename T>
void TransposeTiles(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t rows,
                    int64_t c0, int64_t c1, bool prefetches) {
  constexpr int64_t kTile = 16 / sizeof(T);
  constexpr int64_t kBlock = 64 / sizeof(T);
  for (int64_t c = c0; c < c1; c += kTile) {
    if (prefetches && (c - c0) % kBlock == 0)
      PrefetchRows(src + c + kBlock, src_stride * sizeof(T), rows);
    for (int64_t r = 0; r < rows; r += kTile)
      TransposeTile(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
  }
}

/// dst[c * dst_stride + r] = src[r * src_stride + c] for r < rows, c < columns.
template <typename T>
void TransposeMatrix(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t rows,
                     int64_t columns) {
  if (TransposeNarrow(src, src_stride, dst, dst_stride, rows, columns)) return;
  constexpr int64_t kTile = 16 / sizeof(T);
  constexpr int64_t kBlock = 64 / sizeof(T);
  constexpr int64_t kBytes = sizeof(T);
  const bool near =
      rows * src_stride * kBytes <= kNearMatrix && columns * dst_stride * kBytes <= kNearMatrix;
  const int64_t wide =
      TransposeWide(src, src_stride, dst, dst_stride, rows, columns, kBytes, !near);
  if (wide == rows) return;
  src += wide * src_stride, dst += wide, rows -= wide;
  if (dst_stride == rows && TransposeFewRows(src, src_stride, dst, rows, columns)) return;
  // Else tiles of a row of blocks are written where they belong. Those of bytes are slower.
  const bool blocks =
      !near || kBytes == 1 || FillsSets(src_stride * kBytes) || FillsSets(dst_stride * kBytes);
  const int64_t whole_rows = rows / kTile * kTile, whole_columns = columns / kTile * kTile;
  for (int64_t r0 = 0; r0 < whole_rows; r0 += kBlock) {
    const int64_t r1 = r0 + kBlock < whole_rows ? r0 + kBlock : whole_rows;
    int64_t c0 = 0;
    for (; blocks && r1 - r0 == kBlock && c0 + kBlock <= whole_columns; c0 += kBlock) {
      if (!near && c0 + 2 * kBlock <= whole_columns)
        PrefetchBlock(dst + (c0 + kBlock) * dst_stride + r0, dst_stride);
      if (!near) PrefetchRows(src + r0 * src_stride + c0 + kBlock, src_stride * sizeof(T), kBlock);
      TransposeBlock(src + r0 * src_stride + c0, src_stride, dst + c0 * dst_stride + r0,
                     dst_stride);
    }
    TransposeTiles(src + r0 * src_stride, src_stride, dst + r0, dst_stride, r1 - r0, c0,
                   whole_columns, !near);
    TransposeLastColumns(src, src_stride, dst, dst_stride, r0, r1, whole_columns, rows, columns);
  }
  if (whole_rows == rows) return;
  // The last rows as a tile that reaches back to rows which are there already.
  const int64_t done = rows >= kTile ? whole_columns : 0;
  if (done > 0)
    TransposeTiles(src + (rows - kTile) * src_stride, src_stride, dst + rows - kTile, dst_stride,
                   kTile, 0, done, !near);
  TransposeEdge(src, src_stride, dst, dst_stride, whole_rows, rows, done, columns);
}

}  // namespace fettle::kernels
