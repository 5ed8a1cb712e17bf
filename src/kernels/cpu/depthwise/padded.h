// Rows of a depthwise convolution of floats from copies of lines. A copy has kDepthwisePad channels
// of a line's pixels side by side, with zeros as padding. The copies that a window uses stay in the
// first-level cache, whatever the tensor's strides, and outputs need no special case at borders.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// A line of the input and its copy.
struct PaddedCopy {
  int64_t from = 0;  // of its first pixel inside, floats from PaddedWork::x on
  float* to = nullptr;
};

/// An output row.
struct PaddedRow {
  const PaddedCopy* copies = nullptr;  // to make first
  int64_t num_copies = 0;
  /// Copies that the row's windows use, and the weights of each.
  const float* const* lines = nullptr;
  const int64_t* weights_at = nullptr;  // floats from PaddedWork::weights on
  int64_t num_lines = 0;
  int64_t out_at = 0;  // floats from PaddedWork::out on
};

struct PaddedWork;
/// Where a block of outputs begins.
struct PaddedAt {
  int64_t channel = 0;
  int64_t in = 0;  // floats from the begin of each line's copy on
  float* out = nullptr;
};
/// Neighbouring outputs at a time, of a vector of channels.
struct PaddedBlock {
  void (*run)(const PaddedWork&, const PaddedRow&, const PaddedAt&) = nullptr;
  int outputs = 1;
};
/// How rows are computed: by main blocks, and by last ones where fewer outputs remain.
struct PaddedBlocks {
  PaddedBlock main, last;
  void (*run)(const PaddedWork&) = nullptr;
};

/// Rows of up to kDepthwisePad channels. Every dilation-th column of a line and every dilation-th
/// output of a row lie side by side in copies: a row's phases follow each other.
struct PaddedWork {
  PaddedBlocks blocks;
  const PaddedRow* rows = nullptr;
  int64_t num_rows = 0;
  const float* x = nullptr;
  const float* weights = nullptr;  // of each kernel column kDepthwisePad
  const float* bias = nullptr;     // kDepthwisePad
  float* out = nullptr;
  int64_t channels = 0;
  int64_t in_pixel = 0, out_pixel = 0;  // floats from pixel to pixel
  /// Columns of a line: zeros, then pixels inside, then zeros.
  int64_t before = 0, inside = 0, columns = 0;
  int64_t outputs = 0;
  int64_t taps = 0, stride = 1, dilation = 1;  // of kernel columns
  /// Channel c is element (first + c) / multiplier - first / multiplier from `x` on.
  int64_t first = 0, multiplier = 1;
  float low = 0, high = 0;
};

/// True for the kernel widths and strides whose weights stay in registers: they have a function of
/// their own.
constexpr bool HasPaddedWindow(int64_t kernel_width, int64_t stride) {
  switch (kernel_width) {
    case 3:
    case 5:
    case 7: return stride == 1 || stride == 2;
    case 9: return stride == 1;
    default: return false;
  }
}
/// True for the kernel widths and strides that have any.
constexpr bool HasPadded(int64_t kernel_width, int64_t stride) {
  return kernel_width > 0 && (stride == 1 || stride == 2);
}
/// For rows whose phases have `fewest` to `most` outputs. They read up to 64 bytes from each pixel
/// on.
PaddedBlocks ChoosePadded(int64_t kernel_width, int64_t stride, int64_t fewest, int64_t most);

}  // namespace fettle::kernels
