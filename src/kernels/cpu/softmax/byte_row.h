// Softmax of a row of bytes to a row of bytes.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Rows have at least this many elements.
inline constexpr int64_t kFewestByteColumns = 16;

/// x and y are (q - zero) * scale; a sign bit of `flip` makes bytes of i8 ones of u8.
struct ByteSoftmax {
  uint8_t flip = 0;  // of x
  float x_scale = 1;
  bool is_signed = false;  // y is i8
  float y_scale = 1, y_zero = 0;
};

/// `row` has room for n floats; y may be x.
void SoftmaxByteRow(const ByteSoftmax& types, const uint8_t* x, int64_t n, float* row, uint8_t* y);

}  // namespace fettle::kernels
