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
           facts, tile);
  return GroupedSpace<kDepthwiseFields>(tile, device);
}

namespace {

/// Taps up to which a program is made for one size of filters, and where an item reads each pixel
/// once.
constexpr int64_t kMostUnrolled = 25, kMostOfStep = 81;

/// What a work-item computes, the stride that its program is made for (depthwise.cl), and the
/// work-group.
struct PixelTile {
  int64_t columns = 1, rows = 1, step = 0, group_x = 64, group_y = 1;
};
constexpr Fields kPixelFields("depthwise/depthwise.cl",
                              Field{"columns", &PixelTile::columns, {1, 2, 4, 8}, "TILE_COLUMNS"},
                              Field{"rows", &PixelTile::rows, {1, 2, 4, 8}, "TILE_ROWS"},
                              Field{"step", &PixelTile::step, {0, 1, 2}, "STEP"},
                              Field{"group_x", &PixelTile::group_x, kGroupX},
                              Field{"group_y", &PixelTile::group_y, kGroupY});

/// The stride that a program may be made for; 0: none.
int64_t StepOf(const PixelConv& conv) {
  constexpr int64_t kMostStep = 2;
  const int64_t step = conv.stride[1];
  const bool are_neighbours = conv.dilation[1] == 1 && conv.dilation[2] == 1;
  const bool is_even = are_neighbours && conv.stride[2] == step && step <= kMostStep;
  return is_even && conv.taps() <= kMostOfStep ? step : 0;
}

int64_t PlacesOf(const PixelConv& conv, const PixelTile& tile) {
  return DivideUp(conv.out[1], tile.rows) * DivideUp(conv.out[2], tile.columns);
}

Status CheckPixelTile(const PixelConv& conv, const PixelTile& tile, const Device& device) {
  const int64_t own = StepOf(conv);
  if (tile.step != 0 && own == 0) return InvalidArgument("step: expected 0, got {}", tile.step);
  if (tile.step != 0 && tile.step != own)
    return InvalidArgument("step: expected 0 or {}, got {}", own, tile.step);
  return CheckGroup(tile.group_x, tile.group_y, device);
}

/// Items of a processor take neighbours of a row. Those of a GPU take rows below each other, so
/// that neighbouring items read neighbouring pixels, as many as leave no unit idle.
ParamSpace PixelSpace(const PixelConv& conv, const Device& device) {
  constexpr int64_t kItemsOfUnit = 256;
  const OpenClFacts& facts = AsOpenCl(device).facts();
  PixelTile tile;
  if (facts.is_cpu) {
    tile.columns = conv.out[2] > 1 ? 4 : 1;
  } else {
    tile.step = StepOf(conv);
    tile.rows = 4;
    while (tile.rows > 1 && (tile.rows >= 2 * conv.out[1] ||
                             conv.batch * PlacesOf(conv, tile) * DivideUp(conv.oc, 4) <
                                 kItemsOfUnit * facts.compute_units))
      tile.rows /= 2;
  }
  SetGroup(PlaceSizes(PlacesOf(conv, tile), DivideUp(conv.oc, 4)), facts, tile);
  return {kPixelFields.Tunables(), kPixelFields.Write(tile), [conv, &device](const Params& params) {
            return CheckPixelTile(conv, kPixelFields.Read(params), device);
          }};
}

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (!conv.IsDepthwise() || conv.oc != conv.ic) return Unsupported("not a filter per channel");
  return conv;
}

ParamSpace Space(const Problem&, const PixelConv& conv, const Device& device) {
  return PixelSpace(conv, device);
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const PixelTile tile = kPixelFields.Read(params);
  RETURN_IF_ERROR(CheckPixelTile(conv, tile, device));
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  DefineArithmetic(arithmetic, device, options);
  kPixelFields.Define(tile, options);
  if (conv.taps() <= kMostUnrolled || tile.step > 0)
    options.Define("KERNEL_H", conv.kernel[1]).Define("KERNEL_W", conv.kernel[2]);
  WorkSizes sizes = PlaceSizes(PlacesOf(conv, tile), DivideUp(conv.oc, 4), conv.batch);
  sizes.lws = GroupOf(tile);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, DepthwiseForm(conv),
                              {.path = "depthwise/depthwise.cl",
                               .function = "conv_depthwise",
                               .options = options,
                               .sizes = sizes},
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
                                         .parameters = ParametersOf<kPixelFields>};

extern const KernelDesc kOpenClConvDepthwiseF16;
const KernelDesc kOpenClConvDepthwiseF16 = {.name = "opencl.conv.depthwise.f16",
                                            .arithmetic = Arithmetic::kF16,
                                            .match = MatchAs<kHalfFamily>,
                                            .parameters = ParametersOf<kPixelFields>};

}  // namespace fettle::kernels
