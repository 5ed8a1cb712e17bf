// opencl.softmax.rows: Softmax and LogSoftmax over axes that are neighbours in row-major memory.
#include "kernels/opencl/rows.h"

#include "kernels/family.h"
#include "ops/softmax/op.h"

namespace fettle::kernels {
namespace {

Result<RowExtents> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || (node.op != "Softmax"_op && node.op != "LogSoftmax"_op))
    return Unsupported("computes Softmax only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || x.is_constant()) return Unsupported("expected a float tensor");
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ops::SoftmaxAxes(node, x.shape->rank()));
  return SplitRows(*x.shape, Layout::RowMajor(), mask);
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const RowExtents&,
                                            const Device&) {
  return RowAssignments(group);
}

ParamSpace Space(const Problem&, const RowExtents& extents, const Device& device) {
  return RowSpace(extents, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const RowExtents& extents,
                                                const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordRows(problem, "softmax/rows.cl", extents, device, params));
  made->recorded[0]
      .Int(problem.node().op == "LogSoftmax"_op ? 1 : 0)
      .Int(ops::NanToZero(problem.node()) ? 1 : 0)
      .Int(extents.outer * extents.inner)
      .Int(extents.row)
      .Int(extents.inner);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<RowExtents> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClSoftmaxRows;
const KernelDesc kOpenClSoftmaxRows = {.name = "opencl.softmax.rows",
                                       .match = MatchAs<kFamily>,
                                       .parameters = ParametersOf<kRowFields>};

}  // namespace fettle::kernels
