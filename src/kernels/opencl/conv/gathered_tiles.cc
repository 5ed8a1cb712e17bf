#include "kernels/opencl/conv/gathered_tiles.h"

namespace fettle::kernels {

Result<PixelConv> ReadForMma(const ir::Graph& group, const Device& device) {
  if (!AsOpenCl(device).facts().mma.available)
    return Unsupported("the device is not known to have instructions for matrices");
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (conv.groups > 1) return Unsupported("groups: a tile is of one");
  return conv;
}

Result<std::vector<StateAssignment>> BuffersOf(DType storage, const ir::Graph& group,
                                               const PixelConv& conv, const Device& device) {
  ASSIGN_OR_RETURN(std::vector<StateAssignment> states, PixelConvStates(group, conv, device));
  const size_t x = InputIndex(group, conv.x);
  const auto is_one = [storage](const State& state) {
    return state.memory == MemoryKind::kBuffer && state.storage == storage;
  };
  std::erase_if(states, [&](const StateAssignment& one) {
    return !is_one(one.inputs[x]) || !is_one(one.outputs[0]);
  });
  if (states.empty()) return Unsupported("no buffer of {}", DTypeName(storage));
  return states;
}

Work MmaConvWork(MmaFactors factors, const PixelConv& conv) {
  const auto y = static_cast<double>(conv.pixels() * conv.oc);
  const double products = factors == MmaFactors::kFloats ? 3 : 1;
  return {.operations = 2 * products * y * static_cast<double>(conv.taps() * conv.ic),
          .ceiling = factors == MmaFactors::kHalves ? "f16 mma" : "tf32 mma",
          .bytes = y * static_cast<double>(StorageBytes(StorageOf(factors), 1))};
}

FilterForm GatheredForm(const PixelConv& conv, int64_t chunk) {
  const int64_t rows = DivideUp(conv.oc, 4) * 4, channels = DivideUp(conv.ic, chunk) * chunk;
  return {.recipe = fmt::format("opencl.conv.mma.{}x{}", rows, channels),
          .bias = rows,
          .elements = rows * conv.taps() * channels,
          .dims = {conv.oc, conv.ic, conv.taps()},
          .axes = {{rows, 0}, {conv.taps(), 2}, {channels, 1}}};
}

WarpProduct GatheredProduct(const PixelConv& conv, int64_t chunk, int64_t parts) {
  return {.m = conv.image_pixels(),
          .n = conv.oc,
          .k = conv.taps() * DivideUp(conv.ic, chunk) * kChunkPairs,
          .batch = conv.batch,
          .parts = parts};
}

void DefineGeometry(const PixelConv& conv, BuildOptions& options) {
  options.Define("KERNEL_W", conv.kernel[2]).Define("TAPS", conv.taps());
  options.Define("STRIDE_H", conv.stride[1]).Define("STRIDE_W", conv.stride[2]);
  options.Define("DILATION_H", conv.dilation[1]).Define("DILATION_W", conv.dilation[2]);
  options.Define("PAD_H", conv.pad[1]).Define("PAD_W", conv.pad[2]);
  options.Define("IN_H", conv.in[1]).Define("IN_W", conv.in[2]);
  options.Define("OUT_H", conv.out[1]).Define("OUT_W", conv.out[2]);
  options.Define("IN_QUADS", DivideUp(conv.ic, 4));
}

void DefineColumns(const PixelConv& conv, int64_t wn, BuildOptions& options) {
  constexpr int64_t kColumns = 8;  // of an instruction
  if (conv.oc <= wn) options.Define("COLUMNS", DivideUp(conv.oc, kColumns));
}

void DefineGathered(const PixelConv& conv, const WarpTile& tile, BuildOptions& options) {
  DefineGeometry(conv, options);
  options.Define("EVEN_CHANNELS", DivideUp(conv.oc, 4) * 4 % tile.bn == 0 ? 1 : 0);
}

}  // namespace fettle::kernels
