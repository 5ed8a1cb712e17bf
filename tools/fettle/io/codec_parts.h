// What the codecs of pictures share.
#pragma once

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <string>

namespace fettle::tools {

/// The largest picture that is read, in pixels.
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;

/// Where a codec's error handler leaves its message before it jumps out.
struct CodecError {
  std::string message;
  std::jmp_buf jump;
};

/// A sample of 0 to 1 as an integer of 8 or 16 bits.
inline uint16_t QuantiseSample(float sample, int bits) {
  const float scale = bits == 16 ? 65535.0f : 255.0f;
  // The negated comparison also sends NaN to 0.
  if (!(sample > 0)) return 0;
  return static_cast<uint16_t>(std::lround(std::min(sample, 1.0f) * scale));
}

}  // namespace fettle::tools
