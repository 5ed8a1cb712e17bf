// Lines of a depthwise convolution of few channels: pixels of channels that fill no vector follow
// each other without a gap, so a line is one long vector, and weights repeat along it.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// out[i] = clamp(bias[i] + sum of lines[h][i + offsets[t]] * weights[h][t][i]), where bias and
/// weights hold `phases` vectors, after which they begin again.
struct LineArgs {
  /// Padded to the kernel's columns; as many vectors more as there are phases are read.
  const float* const* lines = nullptr;
  int64_t num_lines = 0;
  int64_t taps = 0;  // kernel columns
  const int64_t* offsets = nullptr;
  const float* weights = nullptr;  // [line][tap][phase][lane]
  const float* bias = nullptr;     // [phase][lane]
  int64_t phases = 0;
  float low = 0, high = 0;
  float* out = nullptr;
  int64_t count = 0;  // elements to store
};

/// The kernel of one instruction set.
struct LineKernel {
  int64_t lanes = 0;
  void (*run)(const LineArgs&) = nullptr;
};

/// The widest set that this machine runs.
LineKernel GetLineKernel();

}  // namespace fettle::kernels
