#include "kernels/cpu/conv/pixels.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// The layout of blocks that `layout` is, where it is one.
std::optional<int64_t> BlockOfLayout(const Shape& shape, const Layout& layout) {
  if (!layout.IsDense()) return std::nullopt;
  if (layout.IsRowMajor()) return 1;
  if (layout == Layout::ChannelsLast(shape.rank())) return shape[1];
  const bool channel_blocks =
      layout.order.empty() && layout.blocks.size() == 1 && layout.blocks[0].axis == 1;
  return channel_blocks ? std::optional(layout.blocks[0].size) : std::nullopt;
}

}  // namespace

Result<PixelLayout> ReadPixels(const Shape& shape, const Layout& layout) {
  if (shape.rank() < 2) return Unsupported("no axis of channels");
  const std::optional<int64_t> block = BlockOfLayout(shape, layout);
  if (!block) return Unsupported("pixels in layout {}", LayoutName(layout, shape.rank()));
  PixelLayout pixels{.channels = shape[1], .block = std::max<int64_t>(*block, 1)};
  pixels.pixels = shape.Count(2, shape.rank());
  pixels.plane = pixels.pixels * pixels.block;
  pixels.image = pixels.blocks() * pixels.plane;
  return pixels;
}

PixelLayout ChannelsLastPixels(int64_t channels, int64_t pixels) {
  return {channels, std::max<int64_t>(channels, 1), pixels, pixels * channels, pixels * channels};
}

void ZeroPadLanes(const PixelLayout& layout, int64_t n, int64_t first, int64_t count, float* data) {
  const int64_t used = layout.channels % layout.block;
  if (used == 0) return;
  float* lanes = data + layout.Offset(n, first, layout.channels);
  for (int64_t i = 0; i < count; ++i, lanes += layout.block)
    std::fill_n(lanes, layout.block - used, 0.F);
}

}  // namespace fettle::kernels
