// Pad and CenterCropPad: every axis falls into runs of evenly spaced sources and of padding.
#include <algorithm>

#include "kernels/move/move_plan.h"
#include "ops/pad/op.h"
#include "ops/resize/op.h"

namespace fettle::kernels {
namespace {

/// Output positions [begin, begin + count) of an axis, which read source, source + step, ...; a
/// negative source is padding.
struct Run {
  int64_t begin, count, source, step;
};

std::vector<Run> FindRuns(const std::vector<int64_t>& sources) {
  std::vector<Run> runs;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!runs.empty()) {
      Run& run = runs.back();
      const int64_t step = sources[i] - sources[i - 1];
      const bool both_padding = run.source < 0 && sources[i] < 0;
      const bool both_inside = run.source >= 0 && sources[i] >= 0;
      if (both_padding || (both_inside && (run.count == 1 || step == run.step))) {
        run.step = both_padding ? 0 : step;
        ++run.count;
        continue;
      }
    }
    runs.push_back({static_cast<int64_t>(i), 1, sources[i], 0});
  }
  return runs;
}

constexpr size_t kMaxRuns = 8;

class PadPlan {
 public:
  PadPlan(const MoveContext& context, std::vector<std::vector<Run>> runs)
      : x_(context.input(0)),
        y_(context.output(0)),
        fill_(context.has_input(2) ? 2 : kZeroSource),
        runs_(std::move(runs)) {
    if (y_.shape.elements() > 0) Descend(0, Move());
  }

  std::vector<Move> TakeMoves() { return std::move(moves_); }

 private:
  /// Each run of `axis` under the choices made for the axes before it; padding covers all of the
  /// axes behind it.
  void Descend(size_t axis, Move chosen) {
    if (axis == runs_.size()) {
      moves_.push_back(std::move(chosen));
      return;
    }
    for (const Run& run : runs_[axis]) {
      Move move = chosen;
      move.dst_offset += run.begin * y_.strides[axis];
      if (run.source < 0) {
        move.axes.push_back({run.count, Step(), y_.strides[axis]});
        PushFill(std::move(move), axis + 1);
        continue;
      }
      move.src_offset += run.source * x_.strides[axis];
      move.axes.push_back({run.count, run.step * x_.strides[axis], y_.strides[axis]});
      Descend(axis + 1, std::move(move));
    }
  }

  void PushFill(Move move, size_t rest) {
    move.source = fill_;
    move.src_offset = Place();
    for (MoveAxis& axis : move.axes) axis.src_stride = Step();
    for (size_t axis = rest; axis < runs_.size(); ++axis)
      move.axes.push_back({y_.shape[static_cast<int>(axis)], Step(), y_.strides[axis]});
    moves_.push_back(std::move(move));
  }

  const MoveOperand &x_, &y_;
  int fill_;
  std::vector<std::vector<Run>> runs_;
  std::vector<Move> moves_;
};

Result<std::vector<Move>> PlanPad(const MoveContext& context) {
  const Shape& x = context.input(0).shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, context.Ints(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.Ints(3));
  ASSIGN_OR_RETURN(const ops::PadAttributes pad,
                   ops::ReadPad(context.node(), x, pads, context.has_input(3) ? &axes : nullptr));
  std::vector<std::vector<Run>> runs;
  for (int axis = 0; axis < x.rank(); ++axis) {
    runs.push_back(FindRuns(ops::PadSources(pad, x, axis, 0, pad.output[axis])));
    if (runs.back().size() > kMaxRuns) return Unsupported("the padding repeats the input often");
  }
  return PadPlan(context, std::move(runs)).TakeMoves();
}

Result<std::vector<Move>> PlanCenterCropPad(const MoveContext& context) {
  const Shape& x = context.input(0).shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, context.Ints(1));
  ASSIGN_OR_RETURN(const ops::CenterCropPadAttributes crop,
                   ops::ReadCenterCropPad(context.node(), x, shape));
  std::vector<std::vector<Run>> runs;
  for (int axis = 0; axis < x.rank(); ++axis) {
    // A run of padding, one of the input, and padding again.
    const int64_t extent = crop.output[axis], shift = crop.shift[static_cast<size_t>(axis)];
    const int64_t begin = std::clamp(-shift, int64_t{0}, extent);
    const int64_t end = std::clamp(x[axis] - shift, begin, extent);
    std::vector<Run>& own = runs.emplace_back();
    if (begin > 0) own.push_back({0, begin, -1, 0});
    if (end > begin) own.push_back({begin, end - begin, begin + shift, 1});
    if (extent > end) own.push_back({end, extent - end, -1, 0});
  }
  return PadPlan(context, std::move(runs)).TakeMoves();
}

constexpr MovePlanner kPlanners[] = {{"CenterCropPad", PlanCenterCropPad}, {"Pad", PlanPad}};

}  // namespace

std::span<const MovePlanner> PadPlanners() { return kPlanners; }

}  // namespace fettle::kernels
