// Activations as convolutions see them: images of pixels, whose channels lie side by side or in
// blocks.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

namespace fettle::kernels {

/// Channels in blocks of `block`, block by block: channels-last is one block of all channels,
/// row-major has blocks of one. Strides in elements.
struct PixelLayout {
  int64_t channels = 0, block = 1;
  int64_t pixels = 0;  // of an image; `block` elements apart
  int64_t plane = 0;   // from block to block
  int64_t image = 0;   // from image to image

  /// At least one, which may be empty.
  int64_t blocks() const { return channels == 0 ? 1 : (channels + block - 1) / block; }
  bool is_channels_last() const { return block == channels; }
  /// Of images of another number of pixels.
  PixelLayout WithPixels(int64_t count) const {
    return {channels, block, count, count * block, blocks() * count * block};
  }
  int64_t Offset(int64_t n, int64_t pixel, int64_t channel) const {
    return n * image + channel / block * plane + pixel * block + channel % block;
  }
};

/// The pixels of a tensor [N, C, spatial...] that is row-major, channels-last or NCHW<block>c.
/// Fails with kUnsupported in other layouts.
Result<PixelLayout> ReadPixels(const Shape& shape, const Layout& layout);

/// Channels-last pixels of any element type.
PixelLayout ChannelsLastPixels(int64_t channels, int64_t pixels);

/// Writes zeros behind the last channel of pixels [first, first + count) of image `n`.
void ZeroPadLanes(const PixelLayout& layout, int64_t n, int64_t first, int64_t count, float* data);

}  // namespace fettle::kernels
