// Shapes and coordinates.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fettle {

using Dims = std::vector<int64_t>;

/// The largest element count that a tensor may have; hostile models stop here before any
/// multiplication overflows.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

/// The extents of a tensor, outermost axis first. -1 marks an extent that is not known yet. A
/// scalar has rank 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(Dims dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  const Dims& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  /// True if every extent is known and none is negative.
  bool IsConcrete() const;
  /// Product of the extents [begin, end); the shape must be concrete.
  int64_t Count(int begin, int end) const;
  int64_t elements() const { return Count(0, rank()); }
  /// The element count, or nothing where an extent is negative or the product passes kMaxElements.
  std::optional<int64_t> CheckedElements() const;
  /// "1x3x224x224"; "scalar" for rank 0.
  std::string ToString() const;

  bool operator==(const Shape&) const = default;

 private:
  Dims dims_;
};

/// Element strides of a dense row-major tensor.
Dims RowMajorStrides(const Shape& shape);
/// The coordinate of row-major element `index`.
void Unravel(int64_t index, const Shape& shape, std::span<int64_t> coordinate);
/// NumPy broadcasting; nothing where the shapes do not broadcast.
std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);
/// Maps a possibly negative axis into [0, rank); nothing if out of range.
std::optional<int> NormaliseAxis(int64_t axis, int rank);

}  // namespace fettle
