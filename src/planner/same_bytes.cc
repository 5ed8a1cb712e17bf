#include "planner/same_bytes.h"

namespace fettle::planner {
namespace {

/// The axes of more than one element, in physical order, where nothing is blocked or pitched: two
/// layouts with equal orders name the same bytes.
std::optional<std::vector<int>> PhysicalOrder(const Shape& shape, const Layout& layout) {
  if (!layout.blocks.empty() || !layout.IsDense()) return std::nullopt;
  std::vector<int> order;
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = layout.AxisAt(i, shape.rank());
    if (shape[axis] != 1) order.push_back(axis);
  }
  return order;
}

}  // namespace

bool SameBytes(const Shape& shape, const State& a, const State& b) {
  if (a.device != b.device || a.memory != b.memory || a.storage != b.storage || a.external ||
      b.external) {
    return false;
  }
  if (a == b) return true;
  const auto order = PhysicalOrder(shape, a.layout);
  return order.has_value() && order == PhysicalOrder(shape, b.layout);
}

}  // namespace fettle::planner
