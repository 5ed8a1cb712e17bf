// Blocks of 256 whose scales are codes themselves.
#pragma once

#include <cstdint>

namespace fettle::gguf {

void EncodeQ2K(const float* x, uint8_t* block);
void EncodeQ3K(const float* x, uint8_t* block);
void EncodeQ4K(const float* x, uint8_t* block);
void EncodeQ5K(const float* x, uint8_t* block);
void EncodeQ6K(const float* x, uint8_t* block);

}  // namespace fettle::gguf
