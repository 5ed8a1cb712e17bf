// Convolutions in which a work-item computes a tile of columns and channel quads.
//   opencl.conv.direct     any window, stride, dilation, padding and groups
//   opencl.conv.pointwise  1x1 of every pixel
// Both also compute in f16: opencl.conv.direct.f16, opencl.conv.pointwise.f16.
#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// Below opencl.conv.local where that is what keeps up.
int Preference(int otherwise, const ir::Graph& group, const Device& device) {
  constexpr int kBelowLocal = 3;
  return BelongsInLocalMemory(ReadPixelConv(group).value(), device) ? kBelowLocal : otherwise;
}

Result<std::vector<StateAssignment>> DirectCandidates(const ir::Graph& group,
                                                      const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (conv.IsPointwise()) return Unsupported("left to opencl.conv.pointwise");
  if (conv.groups == conv.ic && conv.oc == conv.ic && conv.ic > 1)
    return Unsupported("left to opencl.conv.depthwise");
  return PixelCandidates(group, conv.y, device);
}

Result<std::vector<StateAssignment>> PointwiseCandidates(const ir::Graph& group,
                                                         const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (!conv.IsPointwise()) return Unsupported("not a 1x1 convolution of every pixel");
  return PixelCandidates(group, conv.y, device);
}

BuildOptions Options(const Problem& problem, const Params& params, Arithmetic arithmetic,
                     const Device& device) {
  BuildOptions options = TileOptions(params, problem.states.outputs[0]);
  DefineArithmetic(arithmetic, device, options);
  return options;
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> PrepareDirect(const Problem& problem, const Params& params,
                                                      const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  const QuadPlan plan = PlanQuads(conv, ReadTile(params));
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, QuadForm(conv, plan),
                              {.path = "conv/direct.cl",
                               .function = "conv_direct",
                               .options = Options(problem, params, arithmetic, device),
                               .sizes = TileSizes(conv, params)},
                              device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv)).Int(plan.depth);
  made->recorded[0].Value(Int2(plan.group_ic, plan.group_oc));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> PreparePointwise(const Problem& problem,
                                                         const Params& params,
                                                         const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  const TileShape tile = ReadTile(params);
  const QuadPlan plan = PlanQuads(conv, tile);
  WorkSizes sizes =
      PlaceSizes(DivideUp(conv.out[0] * conv.out[1], tile.columns), plan.blocks, conv.batch);
  sizes.lws = GroupOf(params);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, QuadForm(conv, plan),
                              {.path = "conv/pointwise.cl",
                               .function = "conv_pointwise",
                               .options = Options(problem, params, arithmetic, device),
                               .sizes = sizes},
                              device));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClConvDirect;
const KernelDesc kOpenClConvDirect = {
    .name = "opencl.conv.direct",
    .device = DeviceKind::kOpenCl,
    .preference_on = [](const ir::Graph& group,
                        const Device& device) { return Preference(5, group, device); },
    .candidates = DirectCandidates,
    .prepare = PrepareDirect<Arithmetic::kF32>,
    .tunables = TileTunablesOf<ReadPixelConv>,
    .valid = CheckGroup,
    .default_params = TileDefaultsOf<ReadPixelConv>};

extern const KernelDesc kOpenClConvPointwise;
const KernelDesc kOpenClConvPointwise = {
    .name = "opencl.conv.pointwise",
    .device = DeviceKind::kOpenCl,
    .preference_on = [](const ir::Graph& group,
                        const Device& device) { return Preference(10, group, device); },
    .candidates = PointwiseCandidates,
    .prepare = PreparePointwise<Arithmetic::kF32>,
    .tunables = TileTunablesOf<ReadPixelConv>,
    .valid = CheckGroup,
    .default_params = TileDefaultsOf<ReadPixelConv>};

extern const KernelDesc kOpenClConvDirectF16;
const KernelDesc kOpenClConvDirectF16 = {.name = "opencl.conv.direct.f16",
                                         .device = DeviceKind::kOpenCl,
                                         .preference = 6,
                                         .candidates =
                                             [](const ir::Graph& group, const Device& device) {
                                               return HalfStates(
                                                   group, DirectCandidates(group, device), device);
                                             },
                                         .prepare = PrepareDirect<Arithmetic::kF16>,
                                         .tunables = TileTunablesOf<ReadPixelConv>,
                                         .valid = CheckGroup,
                                         .default_params = TileDefaultsOf<ReadPixelConv>};

extern const KernelDesc kOpenClConvPointwiseF16;
const KernelDesc kOpenClConvPointwiseF16 = {
    .name = "opencl.conv.pointwise.f16",
    .device = DeviceKind::kOpenCl,
    .preference = 11,
    .candidates =
        [](const ir::Graph& group, const Device& device) {
          return HalfStates(group, PointwiseCandidates(group, device), device);
        },
    .prepare = PreparePointwise<Arithmetic::kF16>,
    .tunables = TileTunablesOf<ReadPixelConv>,
    .valid = CheckGroup,
    .default_params = TileDefaultsOf<ReadPixelConv>};

}  // namespace fettle::kernels
