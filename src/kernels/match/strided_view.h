// Values that are elements of another one, moved and scaled: where each lies there.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// A loop over elements that lie `stride` apart.
struct StridedLoop {
  int64_t extent, stride;
  bool operator==(const StridedLoop&) const = default;
};
/// Loops from the outermost in; without any: one element.
using StridedLoops = std::vector<StridedLoop>;

/// Each axis of a value as loops over the elements of `source`, which is row-major, from element
/// `offset` on; each element times `scale`.
struct StridedView {
  ir::ValueId source = ir::kAbsent;
  int64_t offset = 0;
  double scale = 1;
  std::vector<StridedLoops> axes;

  /// The loops of axes [begin, end), as few as there can be.
  StridedLoops Loops(size_t begin, size_t end) const;
};

/// `id` as it is.
StridedView WholeView(const ir::Graph& graph, ir::ValueId id);
/// `id` by way of the nodes of `graph` that make it from one of its inputs: Reshape and the like,
/// Transpose, Slice by constants, Expand, products with and quotients by one number. Fails with
/// kUnsupported where another node is among them, or the view cuts loops unevenly.
Result<StridedView> ViewOf(const ir::Graph& graph, ir::ValueId id);

/// The view before Transpose `node`, by that of its result.
Result<StridedView> TransposedBack(const ir::Node& node, StridedView view);
/// The view under the shape of another value with as many elements.
Result<StridedView> Reshaped(const StridedView& view, const Shape& shape);
/// Broadcast to `shape` by the rules of ONNX.
Result<StridedView> Broadcast(const StridedView& view, const Shape& from, const Shape& shape);

/// Cuts loops over the same number of elements at the same places, so that all lists have as many
/// loops, of the same extents; then joins neighbours where all allow it. Fails with kUnsupported
/// where extents divide each other unevenly.
Status AlignLoops(const std::vector<StridedLoops*>& lists);

}  // namespace fettle::kernels
