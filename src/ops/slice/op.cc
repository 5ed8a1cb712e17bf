#include "ops/slice/op.h"

#include <algorithm>

#include "ops/host_ints.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Status InferSlice(InferContext& context) {
  static constexpr std::string_view kNames[] = {"", "starts", "ends", "axes", "steps"};
  std::vector<int64_t> operands[5];
  for (int i = 1; i <= 4; ++i) {
    ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, i, kNames[i], operands[i]));
    if (!known) return OkStatus();
  }
  ASSIGN_OR_RETURN(SliceWindow window, ResolveSlice(context.shape(0), operands[1], operands[2],
                                                    operands[3], operands[4]));
  context.SetOutput(0, context.dtype(0), std::move(window.shape));
  return OkStatus();
}

struct AxisWindow {
  int64_t start, step, count;
};

AxisWindow ClampAxis(int64_t extent, int64_t start, int64_t end, int64_t step) {
  step = std::clamp(step, -kMaxElements, kMaxElements);
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return {start, step, std::max<int64_t>(0, (end - start + step - 1) / step)};
  }
  start = std::clamp<int64_t>(start, 0, std::max<int64_t>(extent - 1, 0));
  end = std::clamp<int64_t>(end, -1, extent - 1);
  return {start, step, extent == 0 ? 0 : std::max<int64_t>(0, (start - end - step - 1) / -step)};
}

/// One axis of `extent` elements. Where at most one element is taken the step becomes 1, so that
/// huge ones never meet a stride.
AxisWindow ResolveAxis(int64_t extent, int64_t start, int64_t end, int64_t step) {
  AxisWindow window = ClampAxis(extent, start, end, step);
  if (window.count <= 1) window.step = 1;
  return window;
}

}  // namespace

Result<SliceWindow> ResolveSlice(const Shape& input, std::span<const int64_t> starts,
                                 std::span<const int64_t> ends, std::span<const int64_t> axes,
                                 std::span<const int64_t> steps) {
  const size_t rank = input.rank();
  const size_t count = starts.size();
  if (ends.size() != count || (!axes.empty() && axes.size() != count) ||
      (!steps.empty() && steps.size() != count) || count > rank) {
    return InvalidModel("{} starts, {} ends, {} axes and {} steps do not slice {}", count,
                        ends.size(), axes.size(), steps.size(), input.ToString());
  }
  SliceWindow window{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1), input};
  std::vector<bool> seen(rank);
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const int axis,
                     ReadAxis(axes.empty() ? static_cast<int64_t>(i) : axes[i], input.rank()));
    const size_t at = axis;
    if (seen[at]) return InvalidModel("input 'axes': axis {} is named twice", axis);
    seen[at] = true;
    const int64_t step = steps.empty() ? 1 : steps[i];
    if (step == 0) return InvalidModel("input 'steps': a step is 0");
    const AxisWindow resolved = ResolveAxis(input[axis], starts[i], ends[i], step);
    window.start[at] = resolved.start;
    window.step[at] = resolved.step;
    window.shape[axis] = resolved.count;
  }
  return window;
}

Status SliceReference(const RefContext& context, const Region& region);
std::span<const ImportRule> SliceImports();

std::span<const Operator> SliceOps() {
  static const Operator kOps[] = {
      {{.name = "Slice",
        .traits = {Trait::kMovesElements},
        .min_inputs = 3,
        .max_inputs = 5,
        .host_inputs = 0b11110},
       {.infer = InferSlice,
        .reference = SliceReference,
        .imports = SliceImports(),
        .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
