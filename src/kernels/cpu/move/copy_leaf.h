// The two innermost axes of a strided copy: rows of columns, in bytes that the loops know.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/move/copy_axis.h"

namespace fettle::kernels {

/// Shorter runs are copied element by element: a call of memcpy costs more than they do.
inline constexpr int64_t kRunBytes = 32;

/// Planes of rows of contiguous runs; steps in bytes.
struct RunGrid {
  int64_t planes, rows;
  int64_t src_plane, dst_plane, src_row, dst_row;
};

/// Runs of `bytes` bytes, at least kRunBytes.
void CopyLongRuns(const std::byte* src, std::byte* dst, const RunGrid& grid, int64_t bytes);

/// Element by element, or by moves of several in short runs. Strides in elements of 1, 2, 4, 8 or
/// 16 bytes.
void CopyElements(const std::byte* src, std::byte* dst, const CopyAxis& row, const CopyAxis& column,
                  int64_t rows, int64_t columns, int64_t element_bytes);

/// A matrix whose rows are contiguous in the source and its columns in the destination. Elements of
/// at most 8 bytes.
void CopyTransposed(const std::byte* src, std::byte* dst, const CopyAxis& row,
                    const CopyAxis& column, int64_t rows, int64_t columns, int64_t element_bytes);

}  // namespace fettle::kernels
