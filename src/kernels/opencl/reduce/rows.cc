// opencl.reduce.rows: reductions over axes that are neighbours in row-major memory.
#include "kernels/opencl/rows.h"

#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/reduce/lines.h"

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

Result<Reading> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& candidate) { return candidate.op == node.op; });
  if (group.nodes().size() != 1 || row == std::end(kRows))
    return Unsupported("computes reductions only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || x.is_constant()) return Unsupported("expected a float tensor");
  ops::AxisMask mask(x.shape->rank(), true);
  if (row->op.starts_with("Global")) {
    if (x.shape->elements() == 0) return Unsupported("planes of no elements");
    mask[0] = mask[1] = false;
  } else {
    ASSIGN_OR_RETURN(mask, ReducedAxes(group));
  }
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(*x.shape, Layout::RowMajor(), mask));
  return Reading{row, extents};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Reading&, const Device&) {
  return RowAssignments(group);
}

ParamSpace Space(const Problem&, const Reading& reading, const Device& device) {
  return RowSpace(reading.extents, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Reading& reading,
                                                const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordRows(problem, "reduce/rows.cl", reading.extents, device, params));
  made->recorded[0]
      .Value(static_cast<cl_int>(reading.row->fold))
      .Value(static_cast<cl_int>(reading.row->finish))
      .Int(reading.extents.outer * reading.extents.inner)
      .Int(reading.extents.row)
      .Int(reading.extents.inner);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Reading> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClReduceRows;
const KernelDesc kOpenClReduceRows = {.name = "opencl.reduce.rows",
                                      .match = MatchAs<kFamily>,
                                      .parameters = ParametersOf<kRowFields>};

}  // namespace fettle::kernels
