// Signs of floats, packed.
#pragma once

#include <cstdint>

#include "ops/binary/op.h"

namespace fettle::kernels {

/// Bit c of `bits` is whether low <= x[c] <= high, the other way round with `invert`; bits behind
/// `channels` are 0. Numbers are compared as integers, so that subnormal ones count whatever the
/// state of the floating-point unit. Writes (channels + 63) / 64 words.
struct PackRowArgs {
  const float* x = nullptr;
  uint64_t* bits = nullptr;
  int64_t channels = 0;
  int32_t low = 0, high = 0;  // LowerKey, UpperKey
  bool invert = false;
};
void PackRow(const PackRowArgs& args);
/// What PackBits asks of each group of a pixel's channels, without x and bits.
PackRowArgs RowsOf(const ops::BitPacking& packing);

}  // namespace fettle::kernels
