#include "tensor/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace fettle {

bool Shape::IsConcrete() const {
  return std::all_of(dims_.begin(), dims_.end(), [](int64_t d) { return d >= 0; });
}

int64_t Shape::Count(int begin, int end) const {
  int64_t count = 1;
  for (int axis = begin; axis < end; ++axis) count *= (*this)[axis];
  return count;
}

std::optional<int64_t> Shape::CheckedElements() const {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims_) {
    if (dim < 0 || dim > kMaxElements) return std::nullopt;
    if (dim == 0) {
      empty = true;
    } else {
      if (__builtin_mul_overflow(count, dim, &count) || count > kMaxElements) return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

std::string Shape::ToString() const {
  return dims_.empty() ? "scalar" : fmt::format("{}", fmt::join(dims_, "x"));
}

Dims RowMajorStrides(const Shape& shape) {
  Dims strides(shape.rank());
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

void Unravel(int64_t index, const Shape& shape, std::span<int64_t> coordinate) {
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    coordinate[axis] = index % shape[axis];
    index /= shape[axis];
  }
}

std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Dims dims(rank);
  for (int i = 1; i <= rank; ++i) {
    const int64_t da = i <= a.rank() ? a[a.rank() - i] : 1;
    const int64_t db = i <= b.rank() ? b[b.rank() - i] : 1;
    if (da != db && da != 1 && db != 1) return std::nullopt;
    dims[rank - i] = da == 1 ? db : da;
  }
  return Shape(std::move(dims));
}

std::optional<int> NormaliseAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace fettle
