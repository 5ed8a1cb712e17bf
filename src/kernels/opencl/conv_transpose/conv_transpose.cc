// opencl.conv_transpose.gather: transposed convolutions of any window, stride and groups.
#include "kernels/opencl/conv/tile.h"
#include "ops/conv_transpose/op.h"

namespace fettle::kernels {
namespace {

/// Node 0 as a PixelConv: output element i * stride + t * dilation - pad meets input element i.
Result<PixelConv> ReadTranspose(const ir::Graph& group) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "ConvTranspose"));
  const Shape& x = *group.value(conv.x).shape;
  const Shape& w = *group.value(conv.w).shape;
  if (!HasPixelRank(x)) return Unsupported("{} axes: expected height and width", x.rank() - 2);
  ASSIGN_OR_RETURN(const ops::ConvTransposeAttributes attributes,
                   ops::ReadConvTranspose(group.nodes()[0], x, w));
  conv.batch = x[0];
  conv.ic = x[1];
  conv.oc = w[1] * attributes.group;
  conv.groups = attributes.group;
  conv.in = PlaneOf(x);
  for (size_t i = 0; i < 2; ++i) {
    conv.out[i] = AlongPlane(attributes.output, i, 1);
    conv.kernel[i] = AlongPlane(attributes.kernel, i, 1);
    conv.stride[i] = AlongPlane(attributes.strides, i, 1);
    conv.dilation[i] = AlongPlane(attributes.dilations, i, 1);
    conv.pad[i] = AlongPlane(attributes.pad_begin, i, 0);
  }
  RETURN_IF_ERROR(CheckCounts(x, w, *group.value(conv.y).shape));
  return conv;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadTranspose(group));
  return PixelCandidates(group, conv.y, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadTranspose(*problem.group));
  const QuadPlan plan = PlanQuads(conv, ReadTile(params));
  const int64_t tiles = DivideUp(DivideUp(conv.out[1], conv.stride[1]), params.at("columns"));
  WorkSizes sizes = PlaceSizes(conv.out[0] * conv.stride[1] * tiles, plan.blocks, conv.batch);
  sizes.lws = GroupOf(params);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, QuadForm(conv, plan, true),
                              {.path = "conv_transpose/conv_transpose.cl",
                               .function = "conv_transpose",
                               .options = TileOptions(params, problem.states.outputs[0]),
                               .sizes = sizes},
                              device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv)).Int(plan.depth);
  made->recorded[0].Value(Int2(plan.group_ic, plan.group_oc));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClConvTransposeGather;
const KernelDesc kOpenClConvTransposeGather = {.name = "opencl.conv_transpose.gather",
                                               .device = DeviceKind::kOpenCl,
                                               .preference = 10,
                                               .candidates = Candidates,
                                               .prepare = Prepare,
                                               .tunables = TileTunablesOf<ReadTranspose>,
                                               .valid = CheckGroup,
                                               .default_params = TileDefaultsOf<ReadTranspose>};

}  // namespace fettle::kernels
