// A row of bytes widened to 16 bits by vectors of AVX2.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Writes `count` bytes, each flipped by `flip` (0x80: i8 plus 128) and less `zero`. Reads and
/// writes nothing else. Only where RunsAvx2().
void WidenRowAvx2(const uint8_t* x, int64_t count, uint8_t flip, int16_t zero, int16_t* out);

}  // namespace fettle::kernels
