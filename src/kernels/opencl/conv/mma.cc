// opencl.conv.mma: convolutions as products by matrix instructions (mma.cl).
#include <algorithm>

#include "kernels/opencl/conv/pixel_conv.h"
#include "kernels/opencl/gemm/warp_tile.h"

namespace fettle::kernels {
namespace {

int64_t Quads(int64_t channels) { return DivideUp(channels, 4); }
/// Pieces of eight input channels.
int64_t ChunksOf(const PixelConv& conv) { return DivideUp(conv.ic, 8); }

Result<PixelConv> ReadForMma(const ir::Graph& group, const Device& device) {
  if (!AsOpenCl(device).facts().mma.available)
    return Unsupported("the device is not known to have instructions for matrices");
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (conv.groups > 1) return Unsupported("groups: a tile is of one");
  return conv;
}

/// Buffers of f16.
Result<std::vector<StateAssignment>> HalfBuffers(const ir::Graph& group, const PixelConv& conv,
                                                 const Device& device) {
  ASSIGN_OR_RETURN(std::vector<StateAssignment> states, PixelConvStates(group, conv, device));
  const size_t x = InputIndex(group, conv.x);
  const auto is_half = [](const State& state) {
    return state.memory == MemoryKind::kBuffer && state.storage == DType::kF16;
  };
  std::erase_if(states, [&](const StateAssignment& one) {
    return !is_half(one.inputs[x]) || !is_half(one.outputs[0]);
  });
  if (states.empty()) return Unsupported("no buffer of f16");
  return states;
}

WarpProduct ProductOf(const PixelConv& conv) {
  return {conv.image_pixels(), conv.oc, conv.taps() * ChunksOf(conv) * 8, conv.batch};
}

ParamSpace MmaSpace(const Problem&, const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const WarpProduct product = ProductOf(conv);
  return {kWarpTileFields.Tunables(), kWarpTileFields.Write(UsualWarpTile(product, facts)),
          [&facts, product](const Params& params) {
            return CheckWarpTile(product, kWarpTileFields.Read(params), facts);
          }};
}

/// Rows of output channels, each tap by tap; channels that fill up are zero.
FilterForm MmaForm(const PixelConv& conv) {
  const int64_t rows = Quads(conv.oc) * 4, channels = ChunksOf(conv) * 8;
  return {.recipe = fmt::format("opencl.conv.mma.{}x{}", rows, channels),
          .bias = rows,
          .elements = rows * conv.taps() * channels,
          .dims = {conv.oc, conv.ic, conv.taps()},
          .axes = {{rows, 0}, {conv.taps(), 2}, {channels, 1}}};
}

BuildOptions MmaOptions(const PixelConv& conv, const WarpTile& tile, const State& state,
                        const OpenClFacts& facts) {
  BuildOptions options = AccessOptions(state);
  DefineWarpTile(tile, facts, options);
  options.Define("KERNEL_W", conv.kernel[2]).Define("TAPS", conv.taps());
  options.Define("STRIDE_H", conv.stride[1]).Define("STRIDE_W", conv.stride[2]);
  options.Define("DILATION_H", conv.dilation[1]).Define("DILATION_W", conv.dilation[2]);
  options.Define("PAD_H", conv.pad[1]).Define("PAD_W", conv.pad[2]);
  options.Define("IN_H", conv.in[1]).Define("IN_W", conv.in[2]);
  options.Define("OUT_H", conv.out[1]).Define("OUT_W", conv.out[2]);
  options.Define("EVEN_CHANNELS", Quads(conv.oc) * 4 % tile.bn == 0 ? 1 : 0);
  return options.Define("IN_QUADS", Quads(conv.ic));
}

Result<std::unique_ptr<PreparedKernel>> PrepareMma(const Problem& problem, const PixelConv& conv,
                                                   const Params& params, const Device& device) {
  const WarpTile tile = kWarpTileFields.Read(params);
  const State& state = problem.states.outputs[0];
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, MmaForm(conv),
                              {.path = "conv/mma.cl",
                               .function = "conv_mma",
                               .options = MmaOptions(conv, tile, state, AsOpenCl(device).facts()),
                               .sizes = WarpTileSizes(ProductOf(conv), tile)},
                              device));
  made->workspace = ProductOf(conv).SharedBytesOf(tile);
  if (made->workspace > 0) made->recorded[0].Workspace(0, kTilePartBytes).Tickets();
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

Work MmaConvWork(const Problem& problem, const PixelConv& conv, const Params&, const Device&) {
  const double macs =
      static_cast<double>(conv.pixels() * conv.oc) * static_cast<double>(conv.taps() * conv.ic);
  const double y = static_cast<double>(conv.pixels() * conv.oc);
  return {.operations = 2 * macs,
          .ceiling = "f16 mma",
          .bytes = y * static_cast<double>(StorageBytes(problem.states.outputs[0].storage, 1))};
}

/// Tiles have 16 rows of pixels, and 16 channels go into one instruction.
int MmaTaste(const PixelConv& conv, const Device&) {
  return conv.ic >= 16 && conv.oc >= 16 && conv.image_pixels() >= 16 ? 12 : 2;
}

constexpr Family<PixelConv> kMmaConvFamily{.read = ReadForMma,
                                           .states = HalfBuffers,
                                           .prepare = PrepareMma,
                                           .params = MmaSpace,
                                           .taste = MmaTaste,
                                           .work = MmaConvWork};

}  // namespace

extern const KernelDesc kOpenClConvMma;
const KernelDesc kOpenClConvMma = {.name = "opencl.conv.mma",
                                   .match = MatchAs<kMmaConvFamily>,
                                   .parameters = ParametersOf<kWarpTileFields>};

}  // namespace fettle::kernels
