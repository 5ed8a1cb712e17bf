// Rows of bytes widened to 16 bits by vectors of AVX2.
#pragma once

#include <cstdint>
#include <span>

namespace fettle::kernels {

/// Writes `count` bytes, each flipped by `flip` (0x80: i8 plus 128) and less `zero`. Reads and
/// writes nothing else. Only where RunsAvx2().
void WidenRowAvx2(const uint8_t* x, int64_t count, uint8_t flip, int16_t zero, int16_t* out);

/// Rows whose taps of `depth` bytes lie `taps` bytes behind where each begins, written one behind
/// the other, rows `stride` elements apart.
struct WideTaps {
  std::span<const uint8_t* const> rows;
  std::span<const int64_t> taps;
  int64_t depth = 0;
  uint8_t flip = 0;
  int16_t zero = 0;
  int64_t stride = 0;
};
/// Reads and writes up to kWideTapsBehind elements behind each tap, where the next one goes.
void WidenTapsAvx2(const WideTaps& all, int16_t* out);
inline constexpr int64_t kWideTapsBehind = 15;

}  // namespace fettle::kernels
