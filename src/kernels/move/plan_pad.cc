// Pad and CenterCropPad: every axis falls into runs of evenly spaced sources and of padding.
#include <algorithm>
#include <utility>

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

constexpr size_t kMaxRuns = 8;

/// The padding before the first element that is kept, the elements, and the padding behind them,
/// each where it is: `edge` repeats the outermost elements.
std::vector<Run> ThreeRuns(int64_t before, int64_t cropped, int64_t kept, int64_t extent,
                           bool edge) {
  const int64_t first = std::clamp(before, int64_t{0}, extent);
  const int64_t last = std::clamp(before + kept, first, extent);
  std::vector<Run> runs;
  if (first > 0) runs.push_back({0, first, edge ? cropped : -1, 0});
  if (last > first)
    runs.push_back({first, last - first, cropped + first - before, last - first > 1 ? 1 : 0});
  if (extent > last) runs.push_back({last, extent - last, edge ? cropped + kept - 1 : -1, 0});
  return runs;
}

/// The same where elements are repeated from the borders on, each once at most: `kept` of them from
/// `cropped` on.
std::vector<Run> RepeatedRuns(bool reflects, int64_t before, int64_t cropped, int64_t kept,
                              int64_t after) {
  std::vector<Run> runs;
  const auto add = [&](int64_t begin, int64_t count, int64_t source, int64_t step) {
    if (count > 0) runs.push_back({begin, count, source, count > 1 ? step : 0});
  };
  if (reflects) {
    add(0, before, cropped + before, -1);
  } else {
    add(0, before, cropped + kept - before, 1);
  }
  add(before, kept, cropped, 1);
  if (reflects) {
    add(before + kept, after, cropped + kept - 2, -1);
  } else {
    add(before + kept, after, cropped, 1);
  }
  return runs;
}

/// The runs of one axis, which may be longer than a table of it could be; more than kMaxRuns where
/// there are more.
std::vector<Run> FindRuns(const ops::PadAttributes& pad, const Shape& x, int axis) {
  constexpr int64_t kPart = 4096;
  const int64_t extent = pad.output[axis], begin = pad.begin[axis], end = pad.end[axis];
  const int64_t cropped = std::max<int64_t>(-begin, 0);
  const int64_t kept = x[axis] - cropped + std::min<int64_t>(end, 0);
  const bool repeats = pad.mode == ops::PadMode::kReflect || pad.mode == ops::PadMode::kWrap;
  if (!repeats || kept <= 1)
    return ThreeRuns(std::max<int64_t>(begin, 0), cropped, kept, extent,
                     pad.mode != ops::PadMode::kConstant);
  const bool reflects = pad.mode == ops::PadMode::kReflect;
  if (std::max(begin, end) <= kept - (reflects ? 1 : 0))
    return RepeatedRuns(reflects, std::max<int64_t>(begin, 0), cropped, kept,
                        std::max<int64_t>(end, 0));
  std::vector<Run> runs;
  int64_t last = 0;
  for (int64_t part = 0; part < extent && runs.size() <= kMaxRuns; part += kPart) {
    int64_t at = part;
    for (const int64_t source :
         ops::PadSources(pad, x, axis, part, std::min(part + kPart, extent))) {
      const int64_t step = source - std::exchange(last, source);
      if (!runs.empty() && (runs.back().count == 1 || step == runs.back().step)) {
        runs.back().step = step;
        ++runs.back().count;
      } else {
        runs.push_back({at, 1, source, 0});
      }
      ++at;
    }
  }
  return runs;
}

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
    runs.push_back(FindRuns(pad, x, axis));
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
