#include "tensor/layout.h"

#include <algorithm>
#include <numeric>

namespace fettle {

Layout Layout::ChannelsLast(int rank) {
  Layout layout;
  if (rank < 3) return layout;
  layout.order.reserve(rank);
  layout.order.push_back(0);
  for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);
  layout.order.push_back(1);
  return layout;
}

int64_t Layout::BlockOf(int axis) const {
  int64_t product = 1;
  for (const Block& block : blocks) {
    if (block.axis == axis) product *= block.size;
  }
  return product;
}

bool Layout::IsValidFor(int rank) const {
  if (!order.empty()) {
    if (static_cast<int>(order.size()) != rank) return false;
    std::vector<bool> seen(order.size());
    for (int axis : order) {
      if (axis < 0 || axis >= rank || seen[axis]) return false;
      seen[axis] = true;
    }
  }
  return pitch >= 0 && std::all_of(blocks.begin(), blocks.end(), [&](const Block& block) {
           return block.axis >= 0 && block.axis < rank && block.size > 1;
         });
}

namespace {

/// What a step along `block` is along its axis.
int64_t UnitOf(const Layout& layout, std::vector<Layout::Block>::const_iterator block) {
  int64_t unit = 1;
  for (auto inner = block + 1; inner != layout.blocks.end(); ++inner) {
    if (inner->axis == block->axis) unit *= inner->size;
  }
  return unit;
}

}  // namespace

PhysicalDims ToPhysical(const Shape& shape, const Layout& layout) {
  PhysicalDims dims;
  const size_t count = layout.blocks.size() + shape.rank();
  dims.extent.reserve(count);
  dims.axis.reserve(count);
  dims.unit.reserve(count);
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = layout.AxisAt(i, shape.rank());
    const int64_t block = layout.BlockOf(axis);
    dims.extent.push_back((shape[axis] + block - 1) / block);
    dims.axis.push_back(axis);
    dims.unit.push_back(block);
  }
  for (auto block = layout.blocks.begin(); block != layout.blocks.end(); ++block) {
    dims.extent.push_back(block->size);
    dims.axis.push_back(block->axis);
    dims.unit.push_back(UnitOf(layout, block));
  }
  dims.stride.resize(dims.extent.size());
  int64_t stride = 1;
  for (size_t i = dims.extent.size(); i-- > 0;) {
    if (layout.pitch != 0 && i + 2 == dims.extent.size()) stride = layout.pitch;
    dims.stride[i] = stride;
    stride *= dims.extent[i];
  }
  return dims;
}

int64_t PhysicalElements(const Shape& shape, const Layout& layout) {
  if (layout.IsDense() && layout.blocks.empty()) return shape.elements();
  if (layout.IsDense()) {
    int64_t elements = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int64_t block = layout.BlockOf(axis);
      elements *= (shape[axis] + block - 1) / block * block;
    }
    return elements;
  }
  const PhysicalDims dims = ToPhysical(shape, layout);
  int64_t last = 0;
  for (size_t i = 0; i < dims.extent.size(); ++i) {
    if (dims.extent[i] == 0) return 0;
    last += (dims.extent[i] - 1) * dims.stride[i];
  }
  return last + 1;
}

bool HasPadLanes(const Shape& shape, const Layout& layout) {
  return std::any_of(layout.blocks.begin(), layout.blocks.end(), [&](const Layout::Block& block) {
    return shape[block.axis] % layout.BlockOf(block.axis) != 0;
  });
}

std::vector<PhysicalPart> PhysicalParts(const Shape& shape, const Layout& layout) {
  std::vector<PhysicalPart> parts;
  parts.reserve(layout.blocks.size() + shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = layout.AxisAt(i, shape.rank());
    const int64_t block = layout.BlockOf(axis);
    parts.push_back({axis, block, (shape[axis] + block - 1) / block});
  }
  for (auto block = layout.blocks.begin(); block != layout.blocks.end(); ++block)
    parts.push_back({block->axis, UnitOf(layout, block), block->size});
  return parts;
}

std::vector<PhysicalPart> JoinParts(const std::vector<PhysicalPart>& parts) {
  std::vector<PhysicalPart> joined;
  joined.reserve(parts.size());
  for (const PhysicalPart& part : parts) {
    if (part.extent == 1) continue;
    if (!joined.empty() && joined.back().axis == part.axis &&
        joined.back().unit == part.unit * part.extent) {
      joined.back() = {part.axis, part.unit, joined.back().extent * part.extent};
    } else {
      joined.push_back(part);
    }
  }
  return joined;
}

bool SameOffsets(const Shape& shape, const Layout& a, const Layout& b) {
  if (a == b) return true;
  return a.IsDense() && b.IsDense() &&
         JoinParts(PhysicalParts(shape, a)) == JoinParts(PhysicalParts(shape, b));
}

OffsetMap::OffsetMap(const Shape& shape, const Layout& layout) : axes_(shape.rank()) {
  const PhysicalDims dims = ToPhysical(shape, layout);
  std::vector<int64_t> remaining(shape.rank());
  for (int axis = 0; axis < shape.rank(); ++axis) remaining[axis] = layout.BlockOf(axis);
  for (int i = 0; i < shape.rank(); ++i) {
    const size_t axis = layout.AxisAt(i, shape.rank());
    axes_[axis].push_back({remaining[axis], 0, dims.stride[i]});
  }
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const size_t axis = layout.blocks[b].axis;
    const int64_t modulus = remaining[axis];
    remaining[axis] /= layout.blocks[b].size;
    axes_[axis].push_back({remaining[axis], modulus, dims.stride[shape.rank() + b]});
  }
}

int64_t OffsetMap::AxisOffset(int axis, int64_t index) const {
  int64_t offset = 0;
  for (const Level& level : axes_[axis]) {
    const int64_t within = level.modulus == 0 ? index : index % level.modulus;
    offset += within / level.divisor * level.stride;
  }
  return offset;
}

int64_t OffsetMap::operator()(std::span<const int64_t> coordinate) const {
  int64_t offset = 0;
  for (size_t axis = 0; axis < axes_.size(); ++axis)
    offset += AxisOffset(static_cast<int>(axis), coordinate[axis]);
  return offset;
}

std::optional<Dims> AxisStrides(const Shape& shape, const Layout& layout) {
  if (!layout.blocks.empty()) return std::nullopt;
  const PhysicalDims dims = ToPhysical(shape, layout);
  Dims strides(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    strides[layout.AxisAt(i, shape.rank())] = dims.stride[i];
  }
  return strides;
}

}  // namespace fettle
