// opencl.conv_transpose.gather: transposed convolutions of any window, stride and groups.
#include "kernels/opencl/conv/tile.h"

namespace fettle::kernels {
namespace {

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "ConvTranspose"));
  const Shape& x = *group.value(conv.x).shape;
  const Shape& w = *group.value(conv.w).shape;
  if (!HasPixelRank(x)) return Unsupported("{} axes: expected height and width", x.rank() - 2);
  ASSIGN_OR_RETURN(static_cast<ConvGeometry&>(conv),
                   ReadTransposeGeometry(group, group.nodes()[0]));
  RETURN_IF_ERROR(CheckCounts(x, w, *group.value(conv.y).shape));
  return conv;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const QuadPlan plan = PlanQuads(conv, tile);
  const int64_t tiles = DivideUp(DivideUp(conv.out[2], conv.stride[2]), tile.columns);
  WorkSizes sizes = PlaceSizes(conv.out[1] * conv.stride[2] * tiles, plan.blocks, conv.batch);
  sizes.lws = GroupOf(tile);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, QuadForm(conv, plan, true),
                              {.path = "conv_transpose/conv_transpose.cl",
                               .function = "conv_transpose",
                               .options = TileOptions(tile, problem.states.outputs[0]),
                               .sizes = sizes},
                              device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv)).Int(plan.depth);
  made->recorded[0].Value(Int2(plan.group_ic, plan.group_oc));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelConv> kFamily{.read = Read,
                                    .states = PixelConvStates,
                                    .prepare = Prepare,
                                    .params = TileSpaceOf,
                                    .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClConvTransposeGather;
const KernelDesc kOpenClConvTransposeGather = {.name = "opencl.conv_transpose.gather",
                                               .match = MatchAs<kFamily>,
                                               .parameters = ParametersOf<kTileFields>};

}  // namespace fettle::kernels
