// Rows in tasks for the lanes of a CPU stream.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cpu/cpu_device.h"
#include "kernels/match/extents.h"

namespace fettle::kernels {

/// `count` tasks of `rows` rows, but the last.
struct RowTasks {
  int64_t rows, count;
};

/// Tasks of about 8192 elements, whose floats stay in the first-level cache, and of one row at
/// least.
inline RowTasks TasksOfRows(int64_t rows, int64_t length) {
  constexpr int64_t kElements = 8192;
  const int64_t each = std::max<int64_t>(1, kElements / std::max<int64_t>(1, length));
  return {each, (rows + each - 1) / each};
}

/// Calls rows(begin, end) for parts of [0, count), rows of `bytes` bytes each: 64 KiB to a task.
template <typename F>
void ForByteRows(CpuStream& stream, int64_t count, int64_t bytes, F&& rows) {
  constexpr int64_t kTaskBytes = 64 << 10;
  const int64_t per_task = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(1, bytes));
  stream.ParallelFor((count + per_task - 1) / per_task, [&](int64_t task, int) {
    rows(task * per_task, std::min(count, (task + 1) * per_task));
  });
}

/// Calls block(offset of its first element, columns) for blocks of at most `most` columns of all
/// rows; short ones some to a task.
template <typename F>
void ForColumns(CpuStream& stream, const RowExtents& extents, int64_t most, F&& block) {
  constexpr int64_t kElements = 32768;
  const int64_t blocks = (extents.inner + most - 1) / most;
  const int64_t units = extents.outer * blocks;
  const int64_t unit = std::max<int64_t>(1, extents.row * std::min(extents.inner, most));
  const int64_t per_task = std::max<int64_t>(1, kElements / unit);
  stream.ParallelFor((units + per_task - 1) / per_task, [&](int64_t task, int) {
    for (int64_t u = task * per_task; u < std::min(units, (task + 1) * per_task); ++u) {
      const int64_t first = u % blocks * most;
      block(u / blocks * extents.row * extents.inner + first,
            std::min(most, extents.inner - first));
    }
  });
}

}  // namespace fettle::kernels
