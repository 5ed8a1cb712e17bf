#include "ops/attention/byte_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace fettle::ops {

void RoundByteRow(const float* x, int64_t size, std::byte* row) {
  // Magnitudes are in the order of their bits, infinities and NaN behind all numbers.
  constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;
  int32_t most_bits = 0;
  for (int64_t i = 0; i < size; ++i)
    most_bits = std::max(most_bits, std::bit_cast<int32_t>(x[i]) & kMagnitude);
  const auto most = std::bit_cast<float>(most_bits);
  auto* codes = reinterpret_cast<int8_t*>(row);
  float step = std::numeric_limits<float>::quiet_NaN();
  if (most_bits >= kInfinity) {
    std::fill_n(codes, size, int8_t{1});
  } else {
    // What is too small for a step is 0.
    const bool counts = most >= 0x1p-100F;
    const float inverse = counts ? 127 / most : 0;
    // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
    constexpr float kWhole = 0x1.8p23F;
    for (int64_t i = 0; i < size; ++i)
      codes[i] = static_cast<int8_t>(std::bit_cast<int32_t>(x[i] * inverse + kWhole));
    step = counts ? most / 127 : 0;
  }
  std::memcpy(row + size, &step, sizeof(step));
}

}  // namespace fettle::ops
