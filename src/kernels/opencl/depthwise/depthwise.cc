// opencl.conv.depthwise: one filter per channel; opencl.conv.depthwise.f16: computed in f16.
#include "kernels/opencl/depthwise/depthwise.h"

#include "kernels/opencl/states.h"

namespace fettle::kernels {

FilterForm DepthwiseForm(const PixelConv& conv) {
  const int64_t quads = DivideUp(conv.oc, 4), taps = conv.taps();
  return {.recipe = "opencl.depthwise",
          .bias = quads * 4,
          .elements = quads * taps * 4,
          .dims = {conv.oc, taps},
          .axes = {{quads, 0, 4}, {taps, 1}, {4, 0}}};
}

ParamSpace DepthwiseSpace(const PixelConv& conv, const Device& device) {
  // Work-items that a compute unit of a GPU needs to have something to do while others wait.
  constexpr int64_t kItemsOfUnit = 256;
  const OpenClFacts& facts = AsOpenCl(device).facts();
  DepthwiseTile tile{.columns = conv.out[2] > 1 ? 4 : 1};
  while (!facts.is_cpu && tile.columns > 1 &&
         conv.batch * conv.out[1] * DivideUp(conv.out[2], tile.columns) * DivideUp(conv.oc, 4) <
             kItemsOfUnit * facts.compute_units)
    tile.columns /= 2;
  SetGroup(PlaceSizes(conv.out[1] * DivideUp(conv.out[2], tile.columns), DivideUp(conv.oc, 4)),
           tile);
  return GroupedSpace<kDepthwiseFields>(tile, device);
}

namespace {

/// Taps up to which a program is made for one size of filters.
constexpr int64_t kMostUnrolled = 25;

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (!conv.IsDepthwise() || conv.oc != conv.ic) return Unsupported("not a filter per channel");
  return conv;
}

ParamSpace Space(const Problem&, const PixelConv& conv, const Device& device) {
  return DepthwiseSpace(conv, device);
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const DepthwiseTile tile = kDepthwiseFields.Read(params);
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  DefineArithmetic(arithmetic, device, options);
  kDepthwiseFields.Define(tile, options);
  if (conv.taps() <= kMostUnrolled)
    options.Define("KERNEL_H", conv.kernel[1]).Define("KERNEL_W", conv.kernel[2]);
  ASSIGN_OR_RETURN(
      std::unique_ptr<RecordedKernel> made,
      RecordConv(problem, conv, DepthwiseForm(conv),
                 {.path = "depthwise/depthwise.cl",
                  .function = "conv_depthwise",
                  .options = options,
                  .sizes = RowTileSizes(conv, tile.columns, DivideUp(conv.oc, 4), GroupOf(tile))},
                 device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelConv> kFamily{.read = Read,
                                    .states = PixelConvStates,
                                    .prepare = Prepare<Arithmetic::kF32>,
                                    .params = Space,
                                    .taste = Always<20>};
constexpr Family<PixelConv> kHalfFamily{.read = Read,
                                        .states = HalfConvStates,
                                        .prepare = Prepare<Arithmetic::kF16>,
                                        .params = Space,
                                        .taste = Always<21>};

}  // namespace

extern const KernelDesc kOpenClConvDepthwise;
const KernelDesc kOpenClConvDepthwise = {.name = "opencl.conv.depthwise",
                                         .match = MatchAs<kFamily>,
                                         .parameters = ParametersOf<kDepthwiseFields>};

extern const KernelDesc kOpenClConvDepthwiseF16;
const KernelDesc kOpenClConvDepthwiseF16 = {.name = "opencl.conv.depthwise.f16",
                                            .arithmetic = Arithmetic::kF16,
                                            .match = MatchAs<kHalfFamily>,
                                            .parameters = ParametersOf<kDepthwiseFields>};

}  // namespace fettle::kernels
