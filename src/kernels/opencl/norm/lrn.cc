// opencl.norm.lrn: local response normalisation across the channels of pixels, with an epilogue.
#include "kernels/family.h"
#include "kernels/opencl/pixels.h"
#include "ops/norm/op.h"

namespace fettle::kernels {
namespace {

Result<ops::LrnAttributes> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "LRN"_op) return Unsupported("computes local response normalisations only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || x.is_constant() || !HasPixelRank(*x.shape))
    return Unsupported("expected a float tensor of rank 3 or 4");
  ASSIGN_OR_RETURN(const ops::LrnAttributes lrn, ops::ReadLrn(node));
  if (!(lrn.bias > 0) || lrn.alpha < 0) return Unsupported("a base that may not be positive");
  return lrn;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ops::LrnAttributes&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                const ops::LrnAttributes& lrn, const Params&,
                                                const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0),
                                {.path = "norm/lrn.cl",
                                 .function = "lrn",
                                 .options = AccessOptions(problem.states.outputs[0]),
                                 .sizes = PixelSizes(problem.shape(group.outputs[0]))},
                                device));
  made->recorded[0]
      .Int((lrn.size - 1) / 2)
      .Int(lrn.size / 2)
      .Value(static_cast<cl_float>(lrn.alpha / static_cast<double>(lrn.size)))
      .Value(static_cast<cl_float>(lrn.beta))
      .Value(static_cast<cl_float>(lrn.bias));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ops::LrnAttributes> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClNormLrn;
const KernelDesc kOpenClNormLrn = {.name = "opencl.norm.lrn", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
