// opencl.reduce.rows: reductions over axes that are neighbours in row-major memory.
#include "kernels/opencl/rows.h"

#include <algorithm>

#include "kernels/opencl/recorded.h"
#include "kernels/opencl/states.h"
#include "ops/reduce/op.h"

namespace fettle::kernels {
namespace {

enum class Fold : cl_int { kSum, kSumAbs, kSumSquare, kProduct, kMax, kMin };
enum class Finish : cl_int { kNone, kMean, kSqrt, kLog };

struct Row {
  std::string_view op;
  Fold fold;
  Finish finish = Finish::kNone;
};
constexpr Row kRows[] = {
    // keep-sorted start
    {"GlobalAveragePool", Fold::kSum, Finish::kMean},
    {"GlobalMaxPool", Fold::kMax},
    {"ReduceL1", Fold::kSumAbs},
    {"ReduceL2", Fold::kSumSquare, Finish::kSqrt},
    {"ReduceLogSum", Fold::kSum, Finish::kLog},
    {"ReduceMax", Fold::kMax},
    {"ReduceMean", Fold::kSum, Finish::kMean},
    {"ReduceMin", Fold::kMin},
    {"ReduceProd", Fold::kProduct},
    {"ReduceSum", Fold::kSum},
    {"ReduceSumSquare", Fold::kSumSquare},
    // keep-sorted end
};

struct Reading {
  const Row* row;
  RowExtents extents;
};

Result<Reading> Read(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& candidate) { return candidate.op == node.op; });
  if (group.nodes().size() != 1 || row == std::end(kRows)) return Unsupported("not a reduction");
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || x.is_constant()) return Unsupported("expected a float tensor");
  ops::AxisMask mask(static_cast<size_t>(x.shape->rank()), true);
  if (node.op.starts_with("Global")) {
    mask[0] = mask[1] = false;
  } else {
    std::vector<int64_t> axes;
    if (node.input(1) != ir::kAbsent) {
      const auto& constant = group.value(node.input(1)).constant;
      if (constant == nullptr) return Unsupported("the axes are not constant");
      for (int64_t i = 0; i < constant->elements(); ++i) axes.push_back(constant->GetInt(i));
    }
    ASSIGN_OR_RETURN(mask, ops::ReduceAxes(node, x.shape->rank(), axes));
  }
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(*x.shape, Layout::RowMajor(), mask));
  return Reading{row, extents};
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(Read(group).status());
  std::vector<StateAssignment> states;
  for (const State& form : RowStates()) states.push_back(StatesBeside(group, form));
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const Reading reading, Read(*problem.group));
  const State& state = problem.states.outputs[0];
  BuildOptions options;
  DefineAccess(state, options);
  const WorkSizes sizes = RowSizes(reading.extents, options);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("reduce/rows.cl", options), "rows"));
  auto made = std::make_unique<RecordedKernel>();
  made->recorded.emplace_back(std::move(kernel), sizes)
      .Input(InputIndex(*problem.group, 0), ByteSize(state.storage))
      .Output(0, ByteSize(state.storage))
      .Value(static_cast<cl_int>(reading.row->fold))
      .Value(static_cast<cl_int>(reading.row->finish))
      .Int(reading.extents.outer * reading.extents.inner)
      .Int(reading.extents.row)
      .Int(reading.extents.inner);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClReduceRows;
const KernelDesc kOpenClReduceRows = {.name = "opencl.reduce.rows",
                                      .device = DeviceKind::kOpenCl,
                                      .preference = 10,
                                      .candidates = Candidates,
                                      .prepare = Prepare};

}  // namespace fettle::kernels
