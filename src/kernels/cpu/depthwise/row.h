// One output row of a depthwise convolution, vectorised over channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fettle::kernels {

/// How elements are stored.
enum class DepthwiseForm {
  kFloats,
  kFloatsFromBytes,  // bytes in, floats out
  kBytes,            // bytes in and out
};

/// What rows and pixels share: `channels` channels of pixels that lie in_pixel and out_pixel
/// elements apart; 64 bytes behind the last pixel are readable. Weights are [kernel row][kernel
/// column][padded channel], zero-padded to a multiple of kDepthwisePad. Bytes b stand for (b ^
/// in_flip) - in_zero (a flip of 0x80 turns i8 into u8 plus 128); results become (round(result) +
/// out_zero) ^ out_flip.
struct DepthwiseCommon {
  DepthwiseForm form = DepthwiseForm::kFloats;
  uint8_t in_flip = 0, out_flip = 0;
  int32_t in_zero = 0, out_zero = 0;
  const float* weights = nullptr;
  const float* bias = nullptr;  // padded
  /// With bytes as input: what each channel's sum is multiplied by, before the bounds; padded.
  const float* scale = nullptr;
  int64_t channels = 0;
  int64_t in_pixel = 0, out_pixel = 0;
  int64_t padded_channels = 0;  // of the weights
  std::byte* out = nullptr;
  /// Bounds of the result before out_zero is added.
  float low = 0, high = 0;
};

struct DepthwiseRow : DepthwiseCommon {
  /// Kernel rows inside the input: pointers to their pixel 0. `weights` are those of the first.
  const std::byte* const* lines = nullptr;
  int64_t num_lines = 0;
  const std::byte* zeros = nullptr;  // padded_channels elements that stand for 0
  int64_t in_width = 0, out_width = 0;
  int64_t kernel_width = 0, stride = 1, dilation = 1, pad = 0;
};

/// Weights are padded to whole vectors of the widest instruction set.
inline constexpr int64_t kDepthwisePad = 16;
/// Kernel rows that RunDepthwiseRow takes.
inline constexpr int64_t kMaxDepthwiseLines = 16;

/// True for the kernel widths, strides and dilations that have a row kernel, of floats or of bytes.
bool HasDepthwiseRow(int64_t kernel_width, int64_t stride, int64_t dilation, bool is_float);
void RunDepthwiseRow(const DepthwiseRow& row);

/// Neighbouring rows, which differ in lines, weights and out alone. Those of 3x3 kernels of floats
/// away from the upper and lower borders, and those of bytes by windows, pass over the lines that
/// they share a vector of channels at a time, so that each comes into the first-level cache once.
void RunDepthwiseRows(std::span<const DepthwiseRow> rows);

/// A row of any kernel width, stride and dilation, and of any number of lines; weights[i]: those of
/// the kernel row that meets line i.
void RunDepthwiseTaps(const DepthwiseRow& row, const float* const* weights);

}  // namespace fettle::kernels
