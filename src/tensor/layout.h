// Layout: how the logical axes of a tensor lie in memory. A value, never an enum: code asks for
// properties.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace fettle {

/// Order of the physical dimensions over axis indices, then blocks innermost. Row-major is the
/// empty order, at any rank. Blocks are zero-padded: **pad lanes hold zero at every kernel
/// boundary**.
struct Layout {
  struct Block {
    int axis;
    int64_t size;
    bool operator==(const Block&) const = default;
  };

  /// Axes, outermost first; empty means row-major.
  std::vector<int> order;
  /// Blocked axes, outermost first; they follow all of `order`.
  std::vector<Block> blocks;
  /// Elements between neighbours of the second-innermost physical dimension; 0 means dense.
  int64_t pitch = 0;
  /// For images: how many leading physical dimensions make up y (the rest, 4 innermost lanes
  /// excluded, is x).
  int image_y_dims = 0;

  bool operator==(const Layout&) const = default;

  static Layout RowMajor() { return {}; }
  /// Axis 1 innermost, as in NHWC; needs rank >= 3 (row-major below that, where the two are the
  /// same).
  static Layout ChannelsLast(int rank);

  bool IsRowMajor() const { return order.empty() && blocks.empty(); }
  bool IsDense() const { return pitch == 0; }
  /// The axis at physical position `i` of the order, for a tensor of `rank`.
  int AxisAt(int i, int rank) const { return order.empty() ? (void(rank), i) : order[i]; }
  /// Product of the block sizes of `axis` (1 where it is not blocked).
  int64_t BlockOf(int axis) const;
  /// True if the order names each axis of `rank` once and blocks name existing axes with sizes
  /// over 1.
  bool IsValidFor(int rank) const;
};

/// The physical dimensions of `shape` under `layout`, outermost first: extents and element strides,
/// and what each dimension counts: steps of `unit` along logical axis `axis`. A tensor without pad
/// lanes is a row-major tensor of these extents.
struct PhysicalDims {
  std::vector<int64_t> extent;
  std::vector<int64_t> stride;
  std::vector<int> axis;
  std::vector<int64_t> unit;
};
PhysicalDims ToPhysical(const Shape& shape, const Layout& layout);
/// Elements that the tensor occupies, pad lanes and pitch included.
int64_t PhysicalElements(const Shape& shape, const Layout& layout);
/// Whether blocks round an axis of `shape` up, so that there are lanes which must hold zero.
bool HasPadLanes(const Shape& shape, const Layout& layout);
/// A run of elements in memory: `extent` steps of `unit` along a logical axis.
struct PhysicalPart {
  int axis;
  int64_t unit, extent;
  bool operator==(const PhysicalPart&) const = default;
};
/// The dimensions of a dense tensor as parts, outermost first; they say where every element lies.
std::vector<PhysicalPart> PhysicalParts(const Shape& shape, const Layout& layout);
/// The same bytes in the fewest parts: those of one element are dropped, neighbours that continue
/// each other along an axis are joined.
std::vector<PhysicalPart> JoinParts(const std::vector<PhysicalPart>& parts);
/// Whether both layouts put every element of `shape` at the same offset and take the same bytes: a
/// tensor in one is a tensor in the other.
bool SameOffsets(const Shape& shape, const Layout& a, const Layout& b);

/// Turns logical coordinates into element offsets. Built once, then read-only.
class OffsetMap {
 public:
  OffsetMap(const Shape& shape, const Layout& layout);
  int64_t operator()(std::span<const int64_t> coordinate) const;
  /// Offset of the part that `axis` contributes at `index`; the offset is the sum over axes.
  int64_t AxisOffset(int axis, int64_t index) const;

 private:
  struct Level {
    int64_t divisor;
    int64_t modulus;  // 0: none
    int64_t stride;
  };
  std::vector<std::vector<Level>> axes_;
};

/// The strides of the axes where the layout is a pure permutation (no blocks); nothing otherwise.
std::optional<Dims> AxisStrides(const Shape& shape, const Layout& layout);

/// One row of the layout table: names are for printing, parsing and candidate lists only.
struct NamedLayout {
  std::string_view name;
  int rank;
  Layout layout;
};
/// All named layouts (layouts.cc).
std::span<const NamedLayout> LayoutTable();
/// Row-major, then the table's layouts of `rank` in the table's order; those of images left out.
std::vector<Layout> LayoutsOfRank(int rank);
/// "row", a table name, or the general form `order(0,2,1)blocks(1:8)pitch(64)`.
std::string LayoutName(const Layout& layout, int rank);
std::optional<Layout> LayoutFromName(std::string_view name, int rank);

}  // namespace fettle
