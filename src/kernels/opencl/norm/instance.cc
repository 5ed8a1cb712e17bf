// opencl.norm.instance: InstanceNormalization of planes in pixels, with an epilogue.
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Scale and bias.
Result<std::vector<PackRequest>> Read(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "InstanceNormalization") return Unsupported("not an instance normalisation");
  RETURN_IF_ERROR(CheckNormalisation(group));
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (x.rank() != 4) return Unsupported("expected a tensor of rank 4");
  std::vector<PackRequest> packs;
  for (size_t i = 1; i <= 2; ++i) {
    ASSIGN_OR_RETURN(PackRequest pack, VectorPack(group, node.inputs[i], x[1], (x[1] + 3) / 4 * 4));
    packs.push_back(std::move(pack));
  }
  return packs;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  RETURN_IF_ERROR(Read(group).status());
  return PixelAnchorStates(group, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  const ir::Graph& group = *problem.group;
  const State& state = problem.states.outputs[0];
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->own_packs, Read(group));
  ASSIGN_OR_RETURN(made->expression,
                   Expression::Compile(group, problem.states, problem.node().output(0)));
  BuildOptions options;
  DefineAccess(state, options);
  options.Define("GROUP_ITEMS", static_cast<int64_t>(kGroupItems));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("norm/instance.cl", options, made->expression.text()), "instance"));
  const Shape& shape = problem.shape(group.outputs[0]);
  const WorkSizes sizes{
      .gws = {kGroupItems, static_cast<size_t>((shape[1] + 3) / 4), static_cast<size_t>(shape[0])},
      .lws = {kGroupItems, 1, 1}};
  made->recorded.emplace_back(std::move(kernel), sizes)
      .Input(InputIndex(group, 0), PixelBytes(state.storage))
      .Output(0, PixelBytes(state.storage))
      .Value(PixelDims(shape))
      .Packed(0, sizeof(float))
      .Packed(1, sizeof(float))
      .Value(static_cast<cl_float>(problem.node().attributes.Float("epsilon", 1e-5)));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClNormInstance;
const KernelDesc kOpenClNormInstance = {.name = "opencl.norm.instance",
                                        .device = DeviceKind::kOpenCl,
                                        .preference = 10,
                                        .candidates = Candidates,
                                        .prepare = Prepare};

}  // namespace fettle::kernels
