// opencl.norm.lrn: local response normalisation across the channels of pixels, with an epilogue.
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/norm/op.h"

namespace fettle::kernels {
namespace {

Result<ops::LrnAttributes> Read(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "LRN") return Unsupported("not a local response normalisation");
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || x.is_constant() || !HasPixelRank(*x.shape))
    return Unsupported("expected a float tensor of rank 3 or 4");
  ASSIGN_OR_RETURN(const ops::LrnAttributes lrn, ops::ReadLrn(node));
  if (!(lrn.bias > 0) || lrn.alpha < 0) return Unsupported("a base that may not be positive");
  return lrn;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  RETURN_IF_ERROR(Read(group).status());
  return PixelAnchorStates(group, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  const ir::Graph& group = *problem.group;
  ASSIGN_OR_RETURN(const ops::LrnAttributes lrn, Read(group));
  const State& state = problem.states.outputs[0];
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression,
                   Expression::Compile(group, problem.states, problem.node().output(0)));
  BuildOptions options;
  DefineAccess(state, options);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram("norm/lrn.cl", options, made->expression.text()), "lrn"));
  const Shape& shape = problem.shape(group.outputs[0]);
  made->recorded.emplace_back(std::move(kernel), PixelSizes(shape))
      .Input(InputIndex(group, 0), PixelBytes(state.storage))
      .Output(0, PixelBytes(state.storage))
      .Value(PixelDims(shape))
      .Int((lrn.size - 1) / 2)
      .Int(lrn.size / 2)
      .Value(static_cast<cl_float>(lrn.alpha / static_cast<double>(lrn.size)))
      .Value(static_cast<cl_float>(lrn.beta))
      .Value(static_cast<cl_float>(lrn.bias));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClNormLrn;
const KernelDesc kOpenClNormLrn = {.name = "opencl.norm.lrn",
                                   .device = DeviceKind::kOpenCl,
                                   .preference = 10,
                                   .candidates = Candidates,
                                   .prepare = Prepare};

}  // namespace fettle::kernels
