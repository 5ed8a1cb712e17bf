// Writes halves and bits, for the encoders of blocks.
#pragma once

#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace fettle::gguf {

inline void PutHalf(float value, uint8_t* to) {
  const Half half(value);
  std::memcpy(to, &half, sizeof(half));
}
inline void AddBits(int bits, uint8_t& to) { to = static_cast<uint8_t>(to | bits); }

}  // namespace fettle::gguf
