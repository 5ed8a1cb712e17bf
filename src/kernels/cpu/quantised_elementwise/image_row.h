// Planes of numbers to pixels of bytes.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/quantised_elementwise/byte_operand.h"

namespace fettle::kernels {

inline constexpr int64_t kMostImageChannels = 4;

/// y[i * channels + c] = quantised(x[c][i]): a quotient, rounded to the nearest even step.
struct ImageRowArgs {
  std::array<const float*, kMostImageChannels> x{};
  uint8_t* y = nullptr;
  int64_t n = 0;
  ByteOperand type;
};

/// `channels`: 2 to kMostImageChannels. Reads and writes nothing beside the n pixels.
void RunImageRow(const ImageRowArgs& args, int64_t channels);

}  // namespace fettle::kernels
