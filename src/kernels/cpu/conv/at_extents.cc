// compiled: small
#include "kernels/cpu/conv/at_extents.h"

#include <utility>

namespace fettle::kernels {

std::optional<ConvAt> AtExtents(const ConvGeometry& read, const ConvPixels& pixels,
                                const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  const Shape& x = *group.value(node.input(0)).shape;
  const Shape& y = *group.value(node.output(0)).shape;
  if (read.pads_follow || x[1] != read.ic || y[1] != read.oc || x.elements() == 0)
    return std::nullopt;
  ConvGeometry g = read;
  g.batch = x[0];
  const int spatial = x.rank() - 2;
  for (int i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    g.in[axis] = x[i + 2];
    g.out[axis] = y[i + 2];
    if (g.same == ops::SamePads::kNone) continue;
    const int64_t span = (g.kernel[axis] - 1) * g.dilation[axis] + 1;
    g.pad[axis] = ops::SamePadding(g.same, g.in[axis], span, g.stride[axis]).begin;
  }
  PixelLayout out = pixels.out;  // whose pixels lie further apart where it is a window
  if (out.is_channels_last()) out.channels = out.block = g.oc;
  out = out.WithPixels(g.image_pixels());
  return ConvAt{g, {pixels.in.WithPixels(g.in[0] * g.in[1] * g.in[2]), out}};
}

std::optional<ConvAt> AtExtents(const ConvGeometry& read, const ConvPixels& pixels,
                                Epilogue& epilogue, const ir::Graph& group) {
  std::optional<ConvAt> at = AtExtents(read, pixels, group);
  if (!at) return at;
  const PixelLayout& out = at->pixels.out;
  if (!epilogue.TakeRows(at->g.batch * out.blocks() * out.pixels, out.block)) at.reset();
  return at;
}

}  // namespace fettle::kernels
