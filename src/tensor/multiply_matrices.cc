#include "tensor/multiply_matrices.h"

#include <algorithm>
#include <array>
#include <vector>

namespace fettle {
namespace {

/// Sums that stay in registers.
constexpr int64_t kColumns = 16;
using Lane = std::array<float, kColumns>;

Lane MultiplyRow(const float* row, const std::vector<Lane>& panel) {
  Lane sums{};
  for (size_t k = 0; k < panel.size(); ++k) {
    for (size_t j = 0; j < kColumns; ++j) sums[j] += row[k] * panel[k][j];
  }
  return sums;
}

}  // namespace

void MultiplyMatrices(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
  std::vector<Lane> panel(static_cast<size_t>(k));  // columns of B side by side
  for (int64_t column = 0; column < n; column += kColumns) {
    const int64_t columns = std::min(kColumns, n - column);
    for (int64_t i = 0; i < k; ++i)
      std::copy_n(b + i * n + column, columns, panel[static_cast<size_t>(i)].begin());
    for (int64_t row = 0; row < m; ++row) {
      const Lane sums = MultiplyRow(a + row * k, panel);
      std::copy_n(sums.begin(), columns, c + row * n + column);
    }
  }
}

}  // namespace fettle
