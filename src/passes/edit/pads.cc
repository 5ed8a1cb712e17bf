#include "passes/edit/pads.h"

#include <algorithm>

#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

/// The numbers of a Pad's operand 1 for all axes; it names those of some axes in operand 3.
std::optional<std::vector<int64_t>> PadsOfAllAxes(const ir::Graph& graph, const ir::Node& pad) {
  const auto pads = IntsOf(graph, pad.input(1));
  if (!pads || pad.input(3) == ir::kAbsent) return pads;
  const auto axes = IntsOf(graph, pad.input(3));
  const auto& shape = graph.value(pad.inputs[0]).shape;
  if (!axes || !shape || axes->size() * 2 != pads->size()) return std::nullopt;
  const size_t rank = shape->rank();
  std::vector<int64_t> all(2 * rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = NormaliseAxis((*axes)[i], shape->rank());
    if (!axis) return std::nullopt;
    all[*axis] = (*pads)[i];
    all[*axis + rank] = (*pads)[i + axes->size()];
  }
  return all;
}

}  // namespace

std::optional<SpatialPads> ReadSpatialPads(const ir::Graph& graph, const ir::Node& pad) {
  if (pad.attributes.Text("mode", "constant") != "constant") return std::nullopt;
  const auto all = PadsOfAllAxes(graph, pad);
  if (!all) return std::nullopt;
  SpatialPads pads{.all = *all};
  if (pad.input(2) != ir::kAbsent) {
    const Constant* fill = ConstantOf(graph, pad.input(2));
    const auto number = fill != nullptr ? UniformValue(*fill) : std::nullopt;
    if (!number) return std::nullopt;
    pads.fill = *number;
  }
  const size_t rank = pads.all.size() / 2;
  if (rank < 3 || pads.all.size() % 2 != 0 || pads.all[0] != 0 || pads.all[1] != 0 ||
      pads.all[rank] != 0 || pads.all[rank + 1] != 0 ||
      *std::min_element(pads.all.begin(), pads.all.end()) < 0) {
    return std::nullopt;
  }
  return pads;
}

std::optional<std::vector<int64_t>> WindowPads(const ir::Node& node, size_t spatial) {
  const std::string mode = node.attributes.Text("auto_pad", "NOTSET");
  if (mode == "VALID") return std::vector<int64_t>(2 * spatial);
  if (mode != "NOTSET") return std::nullopt;
  std::vector<int64_t> pads = node.attributes.Ints("pads", std::vector<int64_t>(2 * spatial));
  if (pads.size() != 2 * spatial) return std::nullopt;
  return pads;
}

}  // namespace fettle::passes
