#include "kernels/match/strided_view.h"

#include <algorithm>

#include "ops/op.h"
#include "ops/slice/op.h"
#include "ops/transpose/op.h"

namespace fettle::kernels {
namespace {

void Append(StridedLoops& loops, StridedLoop loop) {
  if (loop.extent == 1) return;
  if (!loops.empty() && loops.back().stride == loop.extent * loop.stride) {
    loops.back().extent *= loop.extent;
    loops.back().stride = loop.stride;
  } else {
    loops.push_back(loop);
  }
}

Status Uneven() { return Unsupported("elements that no regular loops walk"); }

/// Takes loops of `extent` elements in all from `from`, outermost first.
Result<StridedLoops> Take(StridedLoops& from, size_t& at, int64_t extent) {
  StridedLoops taken;
  while (extent > 1) {
    if (at == from.size()) return Uneven();
    StridedLoop& loop = from[at];
    if (loop.extent == 0) return Uneven();
    if (extent % loop.extent == 0) {
      extent /= loop.extent;
      taken.push_back(loop);
      ++at;
    } else if (loop.extent % extent == 0) {
      loop.extent /= extent;
      taken.push_back({extent, loop.extent * loop.stride});
      extent = 1;
    } else {
      return Uneven();
    }
  }
  return taken;
}

/// The number in a constant of one element.
Result<double> NumberOf(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  if (!value.is_constant() || value.constant->elements() != 1)
    return Unsupported("the factor of an operand is computed or not one number");
  return value.constant->GetDouble(0);
}

Result<std::vector<int64_t>> IntsOf(const ir::Graph& graph, const ir::Node& node, size_t i) {
  std::vector<int64_t> ints;
  const ir::ValueId id = node.input(i);
  if (id == ir::kAbsent) return ints;
  const ir::Value& value = graph.value(id);
  if (!value.is_constant()) return Unsupported("the bounds of a Slice are computed");
  for (int64_t e = 0; e < value.constant->elements(); ++e)
    ints.push_back(value.constant->GetInt(e));
  return ints;
}

Result<StridedView> Sliced(const ir::Graph& graph, const ir::Node& node, StridedView view) {
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> starts, IntsOf(graph, node, 1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> ends, IntsOf(graph, node, 2));
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, IntsOf(graph, node, 3));
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, IntsOf(graph, node, 4));
  ASSIGN_OR_RETURN(const ops::SliceWindow window,
                   ops::ResolveSlice(shape, starts, ends, axes, steps));
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t extent = window.shape[i];
    if (extent == shape[i] && window.step[i] == 1) continue;
    const StridedLoops loops = view.Loops(i, i + 1);
    if (loops.size() != 1) return Uneven();
    view.offset += window.start[i] * loops[0].stride;
    view.axes[i] = {{extent, loops[0].stride * window.step[i]}};
  }
  return view;
}

Result<StridedView> Transposed(const ir::Node& node, StridedView view) {
  ASSIGN_OR_RETURN(const std::vector<int> perm,
                   ops::ReadPermutation(node, static_cast<int>(view.axes.size())));
  std::vector<StridedLoops> axes;
  for (const int from : perm) axes.push_back(view.axes[from]);
  view.axes = std::move(axes);
  return view;
}

}  // namespace

StridedLoops StridedView::Loops(size_t begin, size_t end) const {
  StridedLoops loops;
  for (size_t i = begin; i < end; ++i)
    for (const StridedLoop& loop : axes[i]) Append(loops, loop);
  return loops;
}

StridedView WholeView(const ir::Graph& graph, ir::ValueId id) {
  const Shape& shape = *graph.value(id).shape;
  StridedView view{.source = id};
  for (int i = 0; i < shape.rank(); ++i)
    view.axes.push_back({{shape[i], shape.Count(i + 1, shape.rank())}});
  return view;
}

Result<StridedView> TransposedBack(const ir::Node& node, StridedView view) {
  ASSIGN_OR_RETURN(const std::vector<int> perm,
                   ops::ReadPermutation(node, static_cast<int>(view.axes.size())));
  std::vector<StridedLoops> axes(view.axes.size());
  for (size_t i = 0; i < perm.size(); ++i) axes[perm[i]] = view.axes[i];
  view.axes = std::move(axes);
  return view;
}

Result<StridedView> Reshaped(const StridedView& view, const Shape& shape) {
  StridedLoops loops = view.Loops(0, view.axes.size());
  StridedView made{view.source, view.offset, view.scale, {}};
  size_t at = 0;
  for (const int64_t extent : shape) {
    ASSIGN_OR_RETURN(StridedLoops taken, Take(loops, at, extent));
    made.axes.push_back(std::move(taken));
  }
  return made;
}

Result<StridedView> Broadcast(const StridedView& view, const Shape& from, const Shape& shape) {
  StridedView made{view.source, view.offset, view.scale, {}};
  const int lead = shape.rank() - from.rank();
  if (lead < 0) return Unsupported("an operand of higher rank than the scores");
  for (int i = 0; i < shape.rank(); ++i) {
    const bool repeats = i < lead || from[i - lead] != shape[i];
    made.axes.push_back(repeats ? StridedLoops{{shape[i], 0}} : view.axes[i - lead]);
  }
  return made;
}

Result<StridedView> ViewOf(const ir::Graph& graph, ir::ValueId id) {
  const auto producer = std::ranges::find_if(
      graph.nodes(), [&](const ir::Node& node) { return node.output(0) == id; });
  if (producer == graph.nodes().end()) return WholeView(graph, id);
  const ir::Node& node = *producer;
  const bool scales = node.op == "Mul"_op || node.op == "Div"_op;
  // The number of a product may be its first operand.
  const size_t x = node.op == "Mul"_op && graph.value(node.inputs[0]).is_constant() ? 1 : 0;
  const bool keeps = node.op->Has(ir::Trait::kKeepsBytes);
  if (!scales && !keeps && node.op != "Transpose"_op && node.op != "Slice"_op &&
      node.op != "Expand"_op)
    return Unsupported("{} makes an operand", node.op);
  ASSIGN_OR_RETURN(StridedView view, ViewOf(graph, node.inputs[x]));
  if (node.op == "Transpose"_op) return Transposed(node, std::move(view));
  if (node.op == "Slice"_op) return Sliced(graph, node, std::move(view));
  if (node.op == "Expand"_op)
    return Broadcast(view, *graph.value(node.inputs[0]).shape, *graph.value(id).shape);
  if (scales) {
    ASSIGN_OR_RETURN(const double number, NumberOf(graph, node.inputs[1 - x]));
    view.scale *= node.op == "Div"_op ? 1 / number : number;
  }
  return Reshaped(view, *graph.value(id).shape);
}

Status AlignLoops(const std::vector<StridedLoops*>& lists) {
  std::vector<StridedLoops> aligned(lists.size());
  std::vector<size_t> at(lists.size());
  while (at[0] < lists[0]->size()) {
    int64_t extent = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
      if (at[i] == lists[i]->size()) return Uneven();
      const int64_t left = (*lists[i])[at[i]].extent;
      extent = extent == 0 ? left : std::min(extent, left);
    }
    for (size_t i = 0; i < lists.size(); ++i) {
      ASSIGN_OR_RETURN(const StridedLoops taken, Take(*lists[i], at[i], extent));
      aligned[i].insert(aligned[i].end(), taken.begin(), taken.end());
    }
  }
  const auto joins = [&](size_t loop) {
    return std::ranges::all_of(aligned, [&](const StridedLoops& loops) {
      return loops[loop].stride == loops[loop + 1].extent * loops[loop + 1].stride;
    });
  };
  for (size_t loop = 0; loop + 1 < aligned[0].size();) {
    if (!joins(loop)) {
      ++loop;
      continue;
    }
    for (StridedLoops& loops : aligned) {
      loops[loop + 1].extent *= loops[loop].extent;
      loops.erase(loops.begin() + static_cast<ptrdiff_t>(loop));
    }
  }
  for (size_t i = 0; i < lists.size(); ++i) *lists[i] = std::move(aligned[i]);
  return OkStatus();
}

}  // namespace fettle::kernels
