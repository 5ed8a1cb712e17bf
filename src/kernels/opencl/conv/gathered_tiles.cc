#include "kernels/opencl/conv/gathered_tiles.h"

namespace fettle::kernels {

FilterForm GatheredForm(const PixelConv& conv, int64_t chunk) {
  const int64_t rows = DivideUp(conv.oc, 4) * 4, channels = DivideUp(conv.ic, chunk) * chunk;
  return {.recipe = fmt::format("opencl.conv.mma.{}x{}", rows, channels),
          .bias = rows,
          .elements = rows * conv.taps() * channels,
          .dims = {conv.oc, conv.ic, conv.taps()},
          .axes = {{rows, 0}, {conv.taps(), 2}, {channels, 1}}};
}

WarpProduct GatheredProduct(const PixelConv& conv, int64_t chunk) {
  return {conv.image_pixels(), conv.oc, conv.taps() * DivideUp(conv.ic, chunk) * kChunkPairs,
          conv.batch};
}

void DefineGathered(const PixelConv& conv, const WarpTile& tile, BuildOptions& options) {
  options.Define("KERNEL_W", conv.kernel[2]).Define("TAPS", conv.taps());
  options.Define("STRIDE_H", conv.stride[1]).Define("STRIDE_W", conv.stride[2]);
  options.Define("DILATION_H", conv.dilation[1]).Define("DILATION_W", conv.dilation[2]);
  options.Define("PAD_H", conv.pad[1]).Define("PAD_W", conv.pad[2]);
  options.Define("IN_H", conv.in[1]).Define("IN_W", conv.in[2]);
  options.Define("OUT_H", conv.out[1]).Define("OUT_W", conv.out[2]);
  options.Define("EVEN_CHANNELS", DivideUp(conv.oc, 4) * 4 % tile.bn == 0 ? 1 : 0);
  options.Define("IN_QUADS", DivideUp(conv.ic, 4));
}

}  // namespace fettle::kernels
