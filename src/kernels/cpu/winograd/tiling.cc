// compiled: small
// A convolution's volumes as images, and images as tiles.
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/winograd/conv_kernel.h"

namespace fettle::kernels {

ConvGeometry AsImages(const ConvGeometry& volume) {
  ConvGeometry g = volume;
  g.batch *= g.out[0];
  g.ic *= g.kernel[0];
  for (auto* axes : {&g.in, &g.out, &g.kernel, &g.stride, &g.dilation}) (*axes)[0] = 1;
  g.pad[0] = 0;
  return g;
}

WinogradTiling TilesOf(const ConvGeometry& g, int outputs) {
  WinogradTiling tiling{CeilDiv(g.out[1], outputs), CeilDiv(g.out[2], outputs), 0};
  tiling.count = g.batch * tiling.rows * tiling.columns;
  return tiling;
}

}  // namespace fettle::kernels
