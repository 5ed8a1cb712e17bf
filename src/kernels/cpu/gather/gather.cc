// cpu.gather: slices of the data, one per index, copied by strides in row-major or channels-last.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/element_access.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskBytes = 64 << 10;

/// What is gathered, whatever the layouts.
struct Facts {
  int axis;
  Shape x, indices, y;
  DType dtype, index_type;
};

/// How the slice of one index is copied, and how far the slices lie apart.
struct GatherPlan {
  int64_t extent = 0, src_step = 0;  // of the gathered axis
  int64_t count = 0, dst_step = 0;   // of the indices
  std::vector<CopyAxis> slice;
};

int64_t SliceElements(const GatherPlan& plan) {
  int64_t elements = 1;
  for (const CopyAxis& axis : plan.slice) elements *= axis.extent;
  return elements;
}

Result<GatherPlan> MakePlan(const Facts& facts, const ir::Graph& group,
                            const StateAssignment& states) {
  const auto& [axis, x, indices, y, dtype, index_type] = facts;
  const auto from = AxisStrides(x, InputState(group, states, 0).layout);
  const auto to = AxisStrides(y, OutputState(group, states, 0).layout);
  if (!from || !to) return Unsupported("blocked layouts are not gathered");
  GatherPlan plan{x[axis], (*from)[axis], indices.elements(), 0, {}};
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    const int out = i < axis ? i : i - 1 + indices.rank();
    plan.slice.push_back({x[i], (*from)[i], (*to)[out]});
  }
  if (plan.slice.size() > kMaxCopyAxes)
    return Unsupported("more than {} axes are not gathered", kMaxCopyAxes);
  int64_t inner = 1;
  for (int i = indices.rank() - 1; i >= 0; --i) {
    if (indices[i] == 1) continue;
    const int64_t stride = (*to)[axis + i];
    if (inner == 1) plan.dst_step = stride;
    if (stride != plan.dst_step * inner)
      return Unsupported("the axes of the indices are apart in this layout");
    inner *= indices[i];
  }
  return plan;
}

/// Slices of long runs, each copied as a whole.
class GatherSlices final : public NodeKernel {
 public:
  GatherSlices(const Problem& problem, const Facts& facts, GatherPlan plan)
      : NodeKernel(problem),
        plan_(std::move(plan)),
        size_(ByteSize(facts.dtype)),
        index_type_(facts.index_type),
        slice_(size_, plan_.slice, 0, 0),
        slice_bytes_(size_ * SliceElements(plan_)) {}

  Status Launch(const LaunchArgs& args) const override {
    const Indices indices{operands().input(args, 1), index_type_};
    if (slice_bytes_ == 0 || plan_.count == 0) return OkStatus();
    RETURN_IF_ERROR(CheckIndices(indices, plan_.count, plan_.extent));
    const std::byte* src = operands().input(args, 0);
    std::byte* dst = operands().output(args, 0);
    const int64_t per_task = std::max<int64_t>(1, kTaskBytes / slice_bytes_);
    const int64_t chunks = (plan_.count + per_task - 1) / per_task;
    const auto run = [&](int64_t task, int) {
      const int64_t begin = task / slice_.tasks() * per_task;
      for (int64_t i = begin; i < std::min(begin + per_task, plan_.count); ++i) {
        const int64_t index = indices.Normal(i, plan_.extent);
        slice_.Run(src + index * plan_.src_step * size_, dst + i * plan_.dst_step * size_,
                   task % slice_.tasks());
      }
    };
    static_cast<CpuStream&>(args.stream).ParallelFor(chunks * slice_.tasks(), run);
    return OkStatus();
  }

 private:
  GatherPlan plan_;
  int64_t size_;
  DType index_type_;
  StridedCopy slice_;
  int64_t slice_bytes_;
};

/// Slices whose elements lie apart: lines of lookups, along the indices or along the last axis of
/// the slice, whichever is longer.
class GatherLookups final : public NodeKernel {
 public:
  GatherLookups(const Problem& problem, const Facts& facts, GatherPlan plan)
      : NodeKernel(problem),
        plan_(std::move(plan)),
        dtype_(facts.dtype),
        index_type_(facts.index_type) {
    if (plan_.src_step == 1 && plan_.dst_step == 1)
      runs_ = LongRuns(group(), plan_.extent, plan_.count);
    if (!plan_.slice.empty() && plan_.slice.back().extent > plan_.count) {
      line_ = plan_.slice.back();
      plan_.slice.pop_back();
    }
    rows_ = SliceElements(plan_);
  }

  Status Launch(const LaunchArgs& args) const override {
    const Indices indices{operands().input(args, 1), index_type_};
    if (rows_ == 0 || plan_.count == 0) return OkStatus();
    RETURN_IF_ERROR(CheckIndices(indices, plan_.count, plan_.extent));
    const std::byte* src = operands().input(args, 0);
    std::byte* dst = operands().output(args, 0);
    const int64_t row_bytes = StorageBytes(dtype_, plan_.count * line_.extent);
    const int64_t per_task = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(row_bytes, 1));
    const auto run = [&](int64_t task, int) {
      const int64_t begin = task * per_task, end = std::min(rows_, begin + per_task);
      ops::DispatchElementSize(dtype_, [&]<typename U>() {
        LookUp(indices, begin, end, reinterpret_cast<const U*>(src), reinterpret_cast<U*>(dst));
      });
    };
    static_cast<CpuStream&>(args.stream).ParallelFor((rows_ + per_task - 1) / per_task, run);
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

  /// Rows [begin, end) of the slice, in row-major order of its axes but that of a line.
  template <typename U>
  void LookUp(const Indices& indices, int64_t begin, int64_t end, const U* src, U* dst) const {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, from = 0, to = 0;
      for (size_t i = plan_.slice.size(); i-- > 0;) {
        const CopyAxis& axis = plan_.slice[i];
        from += rest % axis.extent * axis.src_stride;
        to += rest % axis.extent * axis.dst_stride;
        rest /= axis.extent;
      }
      if (line_.extent > 1) {
        CopyLines(indices, src + from, dst + to);
      } else if (!runs_.empty()) {
        for (const SliceRun& run : runs_)
          std::copy_n(src + from + run.slice, run.count, dst + to + run.tuple);
      } else {
        WithTypedIndices(indices, [&](const auto* typed) {
          for (int64_t i = 0; i < plan_.count; ++i) {
            const int64_t index = typed[i] + (typed[i] < 0 ? plan_.extent : 0);
            dst[to + i * plan_.dst_step] = src[from + index * plan_.src_step];
          }
        });
      }
    }
  }

  /// For each index the elements of a line.
  template <typename U>
  void CopyLines(const Indices& indices, const U* src, U* dst) const {
    for (int64_t i = 0; i < plan_.count; ++i) {
      const U* from = src + indices.Normal(i, plan_.extent) * plan_.src_step;
      U* to = dst + i * plan_.dst_step;
      for (int64_t j = 0; j < line_.extent; ++j)
        to[j * line_.dst_stride] = from[j * line_.src_stride];
    }
  }

  GatherPlan plan_;             // its slice without the axis of a line
  CopyAxis line_{1, 0, 0};      // of one element: lines are along the indices
  std::vector<SliceRun> runs_;  // of constant indices
  DType dtype_, index_type_;
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
  const CopyAxis run = plan.slice.empty() ? CopyAxis{1, 1, 1} : plan.slice.back();
  constexpr int64_t kShortRun = 4;  // elements; longer ones are worth the setup of a copy
  if (run.extent <= kShortRun || run.src_stride != 1 || run.dst_stride != 1)
    return std::unique_ptr<PreparedKernel>(new GatherLookups(problem, facts, std::move(plan)));
  return std::unique_ptr<PreparedKernel>(new GatherSlices(problem, facts, std::move(plan)));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuGather;
const KernelDesc kCpuGather = {.name = "cpu.gather", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
