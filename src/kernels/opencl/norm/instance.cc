// opencl.norm.instance: InstanceNormalization of planes in pixels, with an epilogue.
#include "kernels/family.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/pixels.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Scale and bias.
Result<std::vector<PackRequest>> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "InstanceNormalization"_op)
    return Unsupported("computes InstanceNormalization only");
  RETURN_IF_ERROR(CheckNormalisation(group));
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (x.rank() != 4) return Unsupported("expected a tensor of rank 4");
  std::vector<PackRequest> packs;
  for (size_t i = 1; i <= 2; ++i) {
    ASSIGN_OR_RETURN(PackRequest pack,
                     VectorPack(group, node.inputs[i], x[1], DivideUp(x[1], 4) * 4));
    packs.push_back(std::move(pack));
  }
  return packs;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const std::vector<PackRequest>&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                const std::vector<PackRequest>& packs,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const Shape& shape = problem.shape(group.outputs[0]);
  PixelProgram program{.path = "norm/instance.cl",
                       .function = "instance",
                       .options = AccessOptions(problem.states.outputs[0]),
                       .sizes = GroupSizes(kGroupItems, 1, DivideUp(shape[1], 4), shape[0])};
  program.options.Define("GROUP_ITEMS", static_cast<int64_t>(kGroupItems));
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0), program, device));
  made->own_packs = packs;
  made->recorded[0]
      .Packed(0, sizeof(float))
      .Packed(1, sizeof(float))
      .Value(static_cast<cl_float>(node.attributes.Float("epsilon", 1e-5)));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<std::vector<PackRequest>> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClNormInstance;
const KernelDesc kOpenClNormInstance = {.name = "opencl.norm.instance", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
