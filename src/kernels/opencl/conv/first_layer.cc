// opencl.conv.first_layer: few channels of a row-major input to pixels of four.
#include "kernels/opencl/conv/tile.h"

namespace fettle::kernels {
namespace {

/// From here on whole quads of channels are read at less cost.
constexpr int64_t kMostChannels = 4;

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (conv.ic > kMostChannels || conv.groups != 1)
    return Unsupported("more than {} channels, or groups of them", kMostChannels);
  return conv;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const PixelConv& conv,
                                            const Device& device) {
  ASSIGN_OR_RETURN(std::vector<StateAssignment> all, PixelCandidates(group, conv.y, device));
  for (StateAssignment& states : all) {
    states.inputs[InputIndex(group, conv.x)] = RowStateOf(group.value(conv.x), states.outputs[0]);
    // Nodes behind the convolution that read its input too would need it in pixels.
    RETURN_IF_ERROR(Expression::Compile(group, states, conv.y).status());
  }
  return all;
}

/// [block][channel][tap][lanes]
FilterForm FormOf(const PixelConv& conv, int64_t lanes) {
  const int64_t blocks = DivideUp(conv.oc, lanes), depth = conv.ic * conv.taps();
  return {.recipe = fmt::format("opencl.conv.first.{}", lanes),
          .bias = blocks * lanes,
          .elements = blocks * depth * lanes,
          .dims = {conv.oc, depth},
          .axes = {{blocks, 0, lanes}, {depth, 1}, {lanes, 0}}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, FormOf(conv, tile.lanes()),
                              {.path = "conv/first_layer.cl",
                               .function = "conv_first_layer",
                               .options = TileOptions(tile, problem.states.outputs[0]),
                               .sizes = TileSizes(conv, tile)},
                              device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelConv> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = TileSpaceOf, .taste = Always<8>};

}  // namespace

extern const KernelDesc kOpenClConvFirstLayer;
const KernelDesc kOpenClConvFirstLayer = {.name = "opencl.conv.first_layer",
                                          .match = MatchAs<kFamily>,
                                          .parameters = ParametersOf<kTileFields>};

}  // namespace fettle::kernels
