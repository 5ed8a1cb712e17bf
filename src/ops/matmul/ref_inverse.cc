// Scalar oracle of Inverse: Gauss-Jordan elimination with partial pivoting.
#include <cmath>
#include <utility>
#include <vector>

#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Inverts the n x n row-major matrix `m`, which it destroys; false where it has no inverse.
bool Invert(std::vector<double>& m, size_t n, std::vector<double>& inverse) {
  inverse.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::fabs(m[row * n + column]) > std::fabs(m[pivot * n + column])) pivot = row;
    }
    const double value = m[pivot * n + column];
    if (value == 0 || !std::isfinite(value)) return false;
    for (size_t k = 0; k < n; ++k) {
      std::swap(m[pivot * n + k], m[column * n + k]);
      std::swap(inverse[pivot * n + k], inverse[column * n + k]);
      m[column * n + k] /= value;
      inverse[column * n + k] /= value;
    }
    for (size_t row = 0; row < n; ++row) {
      const double factor = m[row * n + column];
      if (row == column || factor == 0) continue;
      for (size_t k = 0; k < n; ++k) {
        m[row * n + k] -= factor * m[column * n + k];
        inverse[row * n + k] -= factor * inverse[column * n + k];
      }
    }
  }
  return true;
}

}  // namespace

Status InverseReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const int rank = x.shape.rank();
  const size_t n = x.shape[rank - 1];
  std::vector<double> matrix(n * n), inverse;
  std::vector<int64_t> at(rank);
  const int64_t matrices = n == 0 ? 0 : x.shape.Count(0, rank - 2);
  for (int64_t i = 0; i < matrices; ++i) {
    const int64_t first = i * static_cast<int64_t>(n * n);
    for (size_t k = 0; k < n * n; ++k) {
      Unravel(first + static_cast<int64_t>(k), x.shape, at);
      matrix[k] = x.GetDouble(x.Offset(at));
    }
    if (!Invert(matrix, n, inverse)) return InvalidArgument("matrix {} has no inverse", i);
    for (size_t k = 0; k < n * n; ++k) {
      Unravel(first + static_cast<int64_t>(k), y.shape, at);
      y.SetDouble(y.Offset(at), inverse[k]);
    }
  }
  return OkStatus();
}

}  // namespace fettle::ops
