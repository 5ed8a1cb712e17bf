// cpu.gather: slices of the data, one per index, copied by strides in row-major or channels-last.
#include <algorithm>
#include <cstring>
#include <functional>

#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/gather/runs.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskBytes = 64 << 10;
/// Elements of a line that are copied for one index after the other, before the next ones.
constexpr int64_t kLinePart = 256;

/// What is gathered, whatever the layouts.
struct Facts {
  int axis;
  Shape x, indices, y;
  DType dtype, index_type;
};

/// How the slice of one index is copied, and how far the slices lie apart; strides in elements.
struct GatherSteps {
  int64_t extent = 0, src_step = 0;  // of the gathered axis
  int64_t count = 0, dst_step = 0;   // of the indices
};
struct GatherPlan : GatherSteps {
  std::vector<CopyAxis> slice;  // outermost first in the output; none of one element
  int64_t element_bytes = 0;
};

int64_t SliceElements(const GatherPlan& plan) {
  int64_t elements = 1;
  for (const CopyAxis& axis : plan.slice) elements *= axis.extent;
  return elements;
}

/// Calls f<U>() with U an element of `bytes` bytes: 1, 2, 4 or 8.
template <typename F>
void WithElement(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    default: return f.template operator()<uint64_t>();
  }
}

/// Orders the axes of the slice by the output, and joins those that run on in both tensors.
void JoinAxes(std::vector<CopyAxis>& axes) {
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.extent == 1; });
  std::ranges::stable_sort(axes, std::ranges::greater(), &CopyAxis::dst_stride);
  std::vector<CopyAxis> joined;
  for (const CopyAxis& axis : axes) {
    if (!joined.empty() && joined.back().src_stride == axis.src_stride * axis.extent &&
        joined.back().dst_stride == axis.dst_stride * axis.extent) {
      joined.back() = {joined.back().extent * axis.extent, axis.src_stride, axis.dst_stride};
    } else {
      joined.push_back(axis);
    }
  }
  axes = std::move(joined);
}

bool EndsInRun(const GatherPlan& plan) {
  return !plan.slice.empty() && plan.slice.back().src_stride == 1 &&
         plan.slice.back().dst_stride == 1;
}

/// Makes one element of a run of two, four or eight bytes.
void WidenElements(GatherPlan& plan) {
  if (!EndsInRun(plan)) return;
  const int64_t run = plan.slice.back().extent, bytes = run * plan.element_bytes;
  if (bytes != 2 && bytes != 4 && bytes != 8) return;
  bool whole = plan.src_step % run == 0 && plan.dst_step % run == 0;
  for (size_t i = 0; i + 1 < plan.slice.size(); ++i)
    whole = whole && plan.slice[i].src_stride % run == 0 && plan.slice[i].dst_stride % run == 0;
  if (!whole) return;
  plan.slice.pop_back();
  for (CopyAxis& axis : plan.slice)
    axis = {axis.extent, axis.src_stride / run, axis.dst_stride / run};
  plan.src_step /= run;
  plan.dst_step /= run;
  plan.element_bytes = bytes;
}

Result<GatherPlan> MakePlan(const Facts& facts, const ir::Graph& group,
                            const StateAssignment& states) {
  const auto& [axis, x, indices, y, dtype, index_type] = facts;
  const auto from = AxisStrides(x, InputState(group, states, 0).layout);
  const auto to = AxisStrides(y, OutputState(group, states, 0).layout);
  if (!from || !to) return Unsupported("blocked layouts are not gathered");
  GatherPlan plan{{x[axis], (*from)[axis], indices.elements(), 0}, {}, ByteSize(dtype)};
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    const int out = i < axis ? i : i - 1 + indices.rank();
    plan.slice.push_back({x[i], (*from)[i], (*to)[out]});
  }
  JoinAxes(plan.slice);
  int64_t inner = 1;
  for (int i = indices.rank() - 1; i >= 0; --i) {
    if (indices[i] == 1) continue;
    const int64_t stride = (*to)[axis + i];
    if (inner == 1) plan.dst_step = stride;
    if (stride != plan.dst_step * inner)
      return Unsupported("the axes of the indices are apart in this layout");
    inner *= indices[i];
  }
  WidenElements(plan);
  return plan;
}

/// Slices of contiguous runs, each copied as a whole, long ones in parts.
class GatherRuns final : public NodeKernel {
 public:
  GatherRuns(const Problem& problem, const Facts& facts, GatherPlan plan)
      : NodeKernel(problem),
        plan_(std::move(plan)),
        size_(plan_.element_bytes),
        index_type_(facts.index_type),
        run_bytes_(size_ * plan_.slice.back().extent) {
    plan_.slice.pop_back();
    rows_ = SliceElements(plan_);
    parts_ = (run_bytes_ + kTaskBytes - 1) / kTaskBytes;
  }

  Status Run(const CpuLaunch& args) const override {
    const Indices indices{operands().input(args, 1), index_type_};
    if (run_bytes_ == 0 || rows_ == 0 || plan_.count == 0) return OkStatus();
    RETURN_IF_ERROR(CheckIndices(indices, plan_.count, plan_.extent));
    const std::byte* src = operands().input(args, 0);
    std::byte* dst = operands().output(args, 0);
    // A run in parts, or some runs to a task.
    const int64_t bytes = std::min(run_bytes_, kTaskBytes), runs = rows_ * plan_.count;
    int64_t per_task = kTaskBytes / bytes;
    if (TakesColumns()) per_task = std::max(plan_.count, per_task / plan_.count * plan_.count);
    args.stream.ParallelFor((runs + per_task - 1) / per_task * parts_, [&](int64_t task, int) {
      const int64_t begin = task / parts_ * per_task, skip = task % parts_ * bytes;
      Copy(indices, begin, std::min(runs, begin + per_task), src + skip, dst + skip,
           std::min(bytes, run_bytes_ - skip));
    });
    return OkStatus();
  }

 private:
  /// Whether few short runs are chosen of rows that lie evenly: whole rows are copied by index.
  bool TakesColumns() const {
    return plan_.count <= 16 && plan_.slice.size() == 1 && run_bytes_ <= 16;
  }

  void CopyColumns(const Indices& indices, int64_t begin, int64_t end, const std::byte* src,
                   std::byte* dst) const {
    const CopyAxis& rows = plan_.slice[0];
    for (int64_t i = 0; i < plan_.count; ++i) {
      const int64_t from = indices.Normal(i, plan_.extent) * plan_.src_step,
                    to = i * plan_.dst_step;
      for (int64_t row = begin; row < end; ++row)
        CopyRun(dst + (to + row * rows.dst_stride) * size_,
                src + (from + row * rows.src_stride) * size_, run_bytes_);
    }
  }

  /// `bytes` of each of the runs [begin, end), those of a row by index.
  void Copy(const Indices& indices, int64_t begin, int64_t end, const std::byte* src,
            std::byte* dst, int64_t bytes) const {
    if (TakesColumns())
      return CopyColumns(indices, begin / plan_.count, end / plan_.count, src, dst);
    int64_t row = begin / plan_.count;
    RowOffsets at(plan_.slice, row);
    for (int64_t first = begin % plan_.count; begin < end; first = 0) {
      const int64_t count = std::min(plan_.count - first, end - begin);
      const std::byte* from = src + at.from * size_;
      std::byte* to = dst + at.to * size_;
      const int64_t step = plan_.src_step * size_, to_step = plan_.dst_step * size_;
      WithTypedIndices(indices, [&, extent = plan_.extent](const auto* typed) {
        for (int64_t i = first; i < first + count; ++i) {
          const int64_t index = typed[i] + (typed[i] < 0 ? extent : 0);
          CopyRun(to + i * to_step, from + index * step, bytes);
        }
      });
      begin += count;
      at.Next(plan_.slice, ++row);
    }
  }

  GatherPlan plan_;  // its slice without the run
  int64_t size_;
  DType index_type_;
  int64_t run_bytes_, rows_ = 1, parts_ = 1;
};

/// Slices whose elements lie apart: lines of lookups, along the indices or along the last axis of
/// the slice, whichever is longer.
class GatherLookups final : public NodeKernel {
 public:
  GatherLookups(const Problem& problem, const Facts& facts, GatherPlan plan)
      : NodeKernel(problem), plan_(std::move(plan)), index_type_(facts.index_type) {
    if (plan_.src_step == 1 && plan_.dst_step == 1)
      runs_ = LongRuns(group(), plan_.extent, plan_.count);
    if (!plan_.slice.empty() && plan_.slice.back().extent > plan_.count) {
      line_ = plan_.slice.back();
      plan_.slice.pop_back();
    }
    parts_ = (line_.extent + kLinePart - 1) / kLinePart;
    rows_ = SliceElements(plan_) * parts_;
  }

  Status Run(const CpuLaunch& args) const override {
    const Indices indices{operands().input(args, 1), index_type_};
    if (rows_ == 0 || plan_.count == 0) return OkStatus();
    RETURN_IF_ERROR(CheckIndices(indices, plan_.count, plan_.extent));
    const std::byte* src = operands().input(args, 0);
    std::byte* dst = operands().output(args, 0);
    const int64_t row_bytes = plan_.element_bytes * plan_.count * std::min(line_.extent, kLinePart);
    const int64_t per_task = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(row_bytes, 1));
    const auto run = [&](int64_t task, int) {
      const int64_t begin = task * per_task, end = std::min(rows_, begin + per_task);
      WithElement(plan_.element_bytes,
                  [&]<typename U>() { LookUp<U>(indices, begin, end, src, dst); });
    };
    args.stream.ParallelFor((rows_ + per_task - 1) / per_task, run);
    return OkStatus();
  }

 private:
  /// Runs of constant indices that ascend by 1; none where most are short.
  static std::vector<SliceRun> LongRuns(const ir::Graph& group, int64_t extent, int64_t count) {
    constexpr int64_t kLongRun = 8;  // elements
    const IndexTuples tuples{{extent}, count, count, 1};
    std::vector<SliceRun> runs =
        FindSliceRuns(tuples, group.value(group.nodes()[0].inputs[1]).constant.get());
    if (std::ssize(runs) * kLongRun > count) runs.clear();
    return runs;
  }

  /// Rows [begin, end) of the slice, in row-major order of its axes and the parts of a line. Wide
  /// elements need not be aligned.
  template <typename U>
  void LookUp(const Indices& indices, int64_t begin, int64_t end, const std::byte* src,
              std::byte* dst) const {
    constexpr auto kSize = static_cast<int64_t>(sizeof(U));
    const GatherSteps steps = plan_;
    for (int64_t row = begin; row < end; ++row) {
      const RowOffsets at(plan_.slice, row / parts_);
      const int64_t from = at.from, to = at.to;
      if (line_.extent > 1) {
        const int64_t first = row % parts_ * kLinePart;
        CopyLines<U>(indices, src, from + first * line_.src_stride, dst,
                     to + first * line_.dst_stride, std::min(kLinePart, line_.extent - first));
      } else if (!runs_.empty()) {
        for (const SliceRun& run : runs_)
          std::memcpy(dst + (to + run.tuple) * plan_.element_bytes,
                      src + (from + run.slice) * plan_.element_bytes, run.count * sizeof(U));
      } else {
        WithTypedIndices(indices, [&](const auto* typed) {
          // Values of the loop: stores of bytes might change those of the plan.
          const auto [extent, src_step, count, dst_step] = steps;
          for (int64_t i = 0; i < count; ++i) {
            const int64_t index = typed[i] + (typed[i] < 0 ? extent : 0);
            std::memcpy(dst + (to + i * dst_step) * kSize, src + (from + index * src_step) * kSize,
                        sizeof(U));
          }
        });
      }
    }
  }

  /// For each index `n` elements of a line.
  template <typename U>
  void CopyLines(const Indices& indices, const std::byte* src, int64_t from, std::byte* dst,
                 int64_t to, int64_t n) const {
    constexpr auto kSize = static_cast<int64_t>(sizeof(U));
    const CopyAxis line = line_;
    for (int64_t i = 0; i < plan_.count; ++i, to += plan_.dst_step) {
      const int64_t first = from + indices.Normal(i, plan_.extent) * plan_.src_step;
      for (int64_t j = 0; j < n; ++j)
        std::memcpy(dst + (to + j * line.dst_stride) * kSize,
                    src + (first + j * line.src_stride) * kSize, sizeof(U));
    }
  }

  GatherPlan plan_;             // its slice without the axis of a line
  CopyAxis line_{1, 0, 0};      // of one element: lines are along the indices
  int64_t parts_ = 1;           // of a line
  std::vector<SliceRun> runs_;  // of constant indices
  DType index_type_;
  int64_t rows_ = 1;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "Gather"_op)
    return Unsupported("computes Gather only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value &data = group.value(node.inputs[0]), &indices = group.value(node.inputs[1]);
  if (ByteSize(data.dtype) > 8 || ByteSize(data.dtype) == 0)
    return Unsupported("elements of type {} are not moved", DTypeName(data.dtype));
  return Facts{*NormaliseAxis(node.attributes.Int("axis"), data.shape->rank()),
               *data.shape,
               *indices.shape,
               *group.value(node.outputs[0]).shape,
               data.dtype,
               indices.dtype};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  const ir::ValueId data = group.nodes()[0].inputs[0];
  std::vector<StateAssignment> candidates;
  for (const bool last : {false, true}) {
    StateAssignment states = RowMajorStates(group);
    for (size_t i = 0; last && i < group.inputs.size(); ++i) {
      if (group.inputs[i] == data) states.inputs[i].layout = Layout::ChannelsLast(facts.x.rank());
    }
    if (last) states.outputs[0].layout = Layout::ChannelsLast(facts.y.rank());
    if (std::find(candidates.begin(), candidates.end(), states) != candidates.end()) continue;
    const Result<GatherPlan> plan = MakePlan(facts, group, states);
    if (plan.ok()) {
      candidates.push_back(std::move(states));
    } else if (candidates.empty()) {
      return plan.status();
    }
  }
  return candidates;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(GatherPlan plan, MakePlan(facts, *problem.group, problem.states));
  if (EndsInRun(plan))
    return std::unique_ptr<PreparedKernel>(new GatherRuns(problem, facts, std::move(plan)));
  return std::unique_ptr<PreparedKernel>(new GatherLookups(problem, facts, std::move(plan)));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true,
                                .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuGather;
const KernelDesc kCpuGather = {.name = "cpu.gather", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
