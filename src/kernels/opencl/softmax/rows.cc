// opencl.softmax.rows: Softmax and LogSoftmax over axes that are neighbours in row-major memory.
#include "kernels/opencl/rows.h"

#include "kernels/opencl/recorded.h"
#include "kernels/opencl/states.h"
#include "ops/softmax/op.h"

namespace fettle::kernels {
namespace {

Result<RowExtents> Read(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || (node.op != "Softmax" && node.op != "LogSoftmax"))
    return Unsupported("not a softmax");
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || x.is_constant()) return Unsupported("expected a float tensor");
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ops::SoftmaxAxes(node, x.shape->rank()));
  return SplitRows(*x.shape, Layout::RowMajor(), mask);
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(Read(group).status());
  std::vector<StateAssignment> states;
  for (const State& form : RowStates()) states.push_back(StatesBeside(group, form));
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const RowExtents extents, Read(*problem.group));
  const State& state = problem.states.outputs[0];
  BuildOptions options;
  DefineAccess(state, options);
  const WorkSizes sizes = RowSizes(extents, options);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("softmax/rows.cl", options), "rows"));
  auto made = std::make_unique<RecordedKernel>();
  made->recorded.emplace_back(std::move(kernel), sizes)
      .Input(InputIndex(*problem.group, 0), ByteSize(state.storage))
      .Output(0, ByteSize(state.storage))
      .Int(problem.node().op == "LogSoftmax" ? 1 : 0)
      .Int(extents.outer * extents.inner)
      .Int(extents.row)
      .Int(extents.inner);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClSoftmaxRows;
const KernelDesc kOpenClSoftmaxRows = {.name = "opencl.softmax.rows",
                                       .device = DeviceKind::kOpenCl,
                                       .preference = 10,
                                       .candidates = Candidates,
                                       .prepare = Prepare};

}  // namespace fettle::kernels
