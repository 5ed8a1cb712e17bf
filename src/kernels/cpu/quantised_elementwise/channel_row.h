// A row of bytes to one, each column with a factor and an addend of its own.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// y = round(clamp((x ^ x_flip) * factor + addend, low, high)) + zero, ^ y_flip. Factor and addend
/// lie `stride` floats apart, 0 or 1. Signed bytes are unsigned ones whose upper bit is flipped.
struct ChannelRowArgs {
  const uint8_t* x = nullptr;
  uint8_t* y = nullptr;
  const float *factor = nullptr, *addend = nullptr;
  int64_t stride = 1;
  int64_t n = 0;
  float low = 0, high = 255, zero = 0;
  uint8_t x_flip = 0, y_flip = 0;
};

void RunChannelRow(const ChannelRowArgs& args);

}  // namespace fettle::kernels
