#include "kernels/cpu/move/copy_leaf.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/move/tile_transpose.h"

namespace fettle::kernels {
namespace {

/// A 16-byte element, for runs that are merged into one.
struct Bytes16 {
  uint64_t low, high;
};
template <size_t size>
using ByteArray = std::array<std::byte, size>;

/// The wide element at any address: rows of images need not be aligned to it.
template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
void Store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

/// Contiguous runs of fewer than kRunBytes bytes: two moves each, which overlap inside the run.
template <typename T>
void CopyShortRuns(const std::byte* src, std::byte* dst, int64_t src_step, int64_t dst_step,
                   int64_t runs, int64_t bytes) {
  const int64_t tail = bytes - static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < runs; ++i) {
    const T first = Load<T>(src + i * src_step), last = Load<T>(src + i * src_step + tail);
    Store(dst + i * dst_step, first);
    Store(dst + i * dst_step + tail, last);
  }
}

/// The same for any length that two moves reach; false for others.
bool CopyRuns(const std::byte* src, std::byte* dst, int64_t src_step, int64_t dst_step,
              int64_t runs, int64_t bytes) {
  if (bytes >= 16) {
    CopyShortRuns<Bytes16>(src, dst, src_step, dst_step, runs, bytes);
  } else if (bytes >= 8) {
    CopyShortRuns<uint64_t>(src, dst, src_step, dst_step, runs, bytes);
  } else if (bytes >= 4) {
    CopyShortRuns<uint32_t>(src, dst, src_step, dst_step, runs, bytes);
  } else {
    return false;
  }
  return true;
}

/// One value into contiguous runs of up to 128 bytes: pad lanes are these. False for longer ones.
template <typename T>
bool FillRuns(T value, std::byte* dst, int64_t dst_step, int64_t runs, int64_t bytes) {
  alignas(64) T pattern[128 / sizeof(T)];
  std::fill(std::begin(pattern), std::end(pattern), value);
  const auto* src = reinterpret_cast<const std::byte*>(pattern);
  if (bytes < kRunBytes) return CopyRuns(src, dst, 0, dst_step, runs, bytes);
  if (bytes > 128) return false;
  bytes > 64 ? CopyShortRuns<ByteArray<64>>(src, dst, 0, dst_step, runs, bytes)
             : CopyShortRuns<ByteArray<32>>(src, dst, 0, dst_step, runs, bytes);
  return true;
}

template <typename T>
void CopyElementsOf(const std::byte* src, std::byte* dst, const CopyAxis& row,
                    const CopyAxis& column, int64_t rows, int64_t columns) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t src_step = column.src_stride * kSize, dst_step = column.dst_stride * kSize;
  if (src_step == kSize && dst_step == kSize && columns * kSize < kRunBytes && rows > 1 &&
      CopyRuns(src, dst, row.src_stride * kSize, row.dst_stride * kSize, rows, columns * kSize)) {
    return;
  }
  if (src_step == 0 && row.src_stride == 0 && dst_step == kSize && rows > 1 &&
      FillRuns(Load<T>(src), dst, row.dst_stride * kSize, rows, columns * kSize)) {
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* from = src + r * row.src_stride * kSize;
    std::byte* to = dst + r * row.dst_stride * kSize;
    if (src_step == 0 && dst_step == kSize) {
      const T value = Load<T>(from);
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, value);
    } else if (src_step == kSize && dst_step == kSize) {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, Load<T>(from + c * kSize));
    } else if (src_step == 2 * kSize && dst_step == kSize) {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, Load<T>(from + c * 2 * kSize));
    } else if (dst_step == kSize) {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, Load<T>(from + c * src_step));
    } else {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * dst_step, Load<T>(from + c * src_step));
    }
  }
}

/// Runs of one length that the compiler knows: blocks of lanes are mostly one of these, and a call
/// of memcpy costs as much as the shortest.
template <size_t bytes>
void CopyFixedRuns(const std::byte* src, std::byte* dst, const RunGrid& grid) {
  for (int64_t p = 0; p < grid.planes; ++p, src += grid.src_plane, dst += grid.dst_plane) {
    for (int64_t r = 0; r < grid.rows; ++r)
      std::memcpy(dst + r * grid.dst_row, src + r * grid.src_row, bytes);
  }
}

/// An element all of whose bytes are one, as those of 0, into long runs.
[[gnu::noinline]] bool FillLongRuns(const std::byte* src, std::byte* dst, const CopyAxis& row,
                                    const CopyAxis& column, int64_t rows, int64_t columns,
                                    int64_t bytes) {
  constexpr int64_t kLong = 256;
  const bool fills = column.src_stride == 0 && row.src_stride == 0 && column.dst_stride == 1;
  if (!fills || columns * bytes < kLong || std::memcmp(src, src + 1, bytes - 1) != 0) return false;
  for (int64_t r = 0; r < rows; ++r, dst += row.dst_stride * bytes)
    std::memset(dst, static_cast<int>(*src), columns * bytes);
  return true;
}

/// Calls f<T>() with T an element of so many bytes.
template <typename F>
void DispatchBytes(int64_t element_bytes, F&& f) {
  switch (element_bytes) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
    default: return f.template operator()<Bytes16>();
  }
}

}  // namespace

void CopyLongRuns(const std::byte* src, std::byte* dst, const RunGrid& grid, int64_t bytes) {
  switch (bytes) {
    case 32: return CopyFixedRuns<32>(src, dst, grid);
    case 64: return CopyFixedRuns<64>(src, dst, grid);
    case 128: return CopyFixedRuns<128>(src, dst, grid);
    default: break;
  }
  for (int64_t p = 0; p < grid.planes; ++p, src += grid.src_plane, dst += grid.dst_plane) {
    for (int64_t r = 0; r < grid.rows; ++r)
      std::memcpy(dst + r * grid.dst_row, src + r * grid.src_row, bytes);
  }
}

void CopyElements(const std::byte* src, std::byte* dst, const CopyAxis& row, const CopyAxis& column,
                  int64_t rows, int64_t columns, int64_t element_bytes) {
  if (FillLongRuns(src, dst, row, column, rows, columns, element_bytes)) return;
  DispatchBytes(element_bytes,
                [&]<typename T>() { CopyElementsOf<T>(src, dst, row, column, rows, columns); });
}

void CopyTransposed(const std::byte* src, std::byte* dst, const CopyAxis& row,
                    const CopyAxis& column, int64_t rows, int64_t columns, int64_t element_bytes) {
  DispatchBytes(element_bytes, [&]<typename T>() {
    if constexpr (sizeof(T) <= 8) {
      // Rows of the leaf are contiguous in the source, its columns in the destination.
      TransposeMatrix(reinterpret_cast<const T*>(src), column.src_stride, reinterpret_cast<T*>(dst),
                      row.dst_stride, columns, rows);
    }
  });
}

}  // namespace fettle::kernels
