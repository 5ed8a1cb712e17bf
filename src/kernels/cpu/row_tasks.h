// Rows in tasks for the lanes of a CPU stream.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace fettle::kernels
