#include "importers/gguf/gguf_types.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/dtype.h"

namespace fettle::gguf {
namespace {

float HalfAt(const uint8_t* at) {
  Half half;
  std::memcpy(&half, at, sizeof(half));
  return static_cast<float>(half);
}

void SetAll(const BlockParts& parts, int64_t count, float scale, float minimum) {
  if (parts.scales != nullptr) std::fill_n(parts.scales, count, scale);
  if (parts.minima != nullptr) std::fill_n(parts.minima, count, minimum);
}
/// The scale at `block`, where it is asked for, and so many of it as the minimum.
void SetScaled(const BlockParts& parts, const uint8_t* block, float times) {
  if (parts.scales != nullptr) *parts.scales = HalfAt(block);
  if (parts.minima != nullptr) *parts.minima = times * HalfAt(block);
}
/// The scale at `block`, and the minimum behind it.
void SetBoth(const BlockParts& parts, const uint8_t* block) {
  if (parts.scales != nullptr) *parts.scales = HalfAt(block);
  if (parts.minima != nullptr) *parts.minima = HalfAt(block + 2);
}

/// 8 bytes at a time.
uint64_t EightAt(const uint8_t* from) {
  uint64_t bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return bytes;
}
void PutEight(uint64_t bytes, uint8_t* to) { std::memcpy(to, &bytes, sizeof(bytes)); }

/// 32 codes of 4 bits, the first 16 in the low halves of the bytes.
void ReadNibbles(const uint8_t* from, uint8_t* codes) {
  constexpr uint64_t kLow = 0x0f0f0f0f0f0f0f0f;
  for (int i = 0; codes != nullptr && i < 16; i += 8) {
    const uint64_t bytes = EightAt(from + i);
    PutEight(bytes & kLow, codes + i);
    PutEight(bytes >> 4 & kLow, codes + i + 16);
  }
}

/// The fifth bits of 32 codes.
void AddFifth(const uint8_t* from, uint8_t* codes) {
  for (int i = 0; codes != nullptr && i < 32; ++i) codes[i] |= (from[i / 8] >> (i % 8) & 1) << 4;
}

void ReadQ40(const uint8_t* block, const BlockParts& parts) {
  SetScaled(parts, block, -8);
  ReadNibbles(block + 2, parts.codes);
}
void ReadQ41(const uint8_t* block, const BlockParts& parts) {
  SetBoth(parts, block);
  ReadNibbles(block + 4, parts.codes);
}
void ReadQ50(const uint8_t* block, const BlockParts& parts) {
  SetScaled(parts, block, -16);
  ReadNibbles(block + 6, parts.codes);
  AddFifth(block + 2, parts.codes);
}
void ReadQ51(const uint8_t* block, const BlockParts& parts) {
  SetBoth(parts, block);
  ReadNibbles(block + 8, parts.codes);
  AddFifth(block + 4, parts.codes);
}
void ReadQ80(const uint8_t* block, const BlockParts& parts) {
  SetScaled(parts, block, -128);
  constexpr uint64_t kSigns = 0x8080808080808080;
  for (int i = 0; parts.codes != nullptr && i < 32; i += 8)
    PutEight(EightAt(block + 2 + i) ^ kSigns, parts.codes + i);
}

/// The scale and the minimum, of 6 bits each, of part `i` of 8.
void ReadSixBits(const uint8_t* from, int i, int* scale, int* minimum) {
  if (i < 4) {
    *scale = from[i] & 63;
    *minimum = from[i + 4] & 63;
  } else {
    *scale = (from[i + 4] & 15) | (from[i - 4] >> 6) << 4;
    *minimum = from[i + 4] >> 4 | (from[i] >> 6) << 4;
  }
}

/// 8 parts of 32: two steps, 12 bytes of scales and minima, then codes from `codes_at` on, those of
/// two parts in a run of 32 bytes; fifth bits at `fifth`, part i in bit i.
void ReadSuperBlock(const uint8_t* block, int64_t codes_at, const uint8_t* fifth,
                    const BlockParts& parts) {
  const float step = HalfAt(block), minimum_step = HalfAt(block + 2);
  for (int i = 0; i < 8; ++i) {
    int scale = 0, minimum = 0;
    ReadSixBits(block + 4, i, &scale, &minimum);
    if (parts.scales != nullptr) parts.scales[i] = step * static_cast<float>(scale);
    if (parts.minima != nullptr) parts.minima[i] = -minimum_step * static_cast<float>(minimum);
    if (parts.codes == nullptr) continue;
    const uint8_t* from = block + codes_at + i / 2 * 32;
    uint8_t* to = parts.codes + i * 32;
    for (int j = 0; j < 32; ++j) {
      to[j] = i % 2 == 0 ? from[j] & 15 : from[j] >> 4;
      if (fifth != nullptr) to[j] |= (fifth[j] >> i & 1) << 4;
    }
  }
}
void ReadQ4K(const uint8_t* block, const BlockParts& parts) {
  ReadSuperBlock(block, 16, nullptr, parts);
}
void ReadQ5K(const uint8_t* block, const BlockParts& parts) {
  ReadSuperBlock(block, 48, block + 16, parts);
}

/// The two bits of element `i` of 256: 32 bytes hold 128 elements, each byte every 32nd.
uint8_t TwoBits(const uint8_t* from, int i) {
  return from[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

void ReadQ2K(const uint8_t* block, const BlockParts& parts) {
  const float step = HalfAt(block + 80), minimum_step = HalfAt(block + 82);
  for (int i = 0; i < 16; ++i) {
    if (parts.scales != nullptr) parts.scales[i] = step * static_cast<float>(block[i] & 15);
    if (parts.minima != nullptr)
      parts.minima[i] = -minimum_step * static_cast<float>(block[i] >> 4);
  }
  for (int i = 0; parts.codes != nullptr && i < 256; ++i) parts.codes[i] = TwoBits(block + 16, i);
}

void ReadQ3K(const uint8_t* block, const BlockParts& parts) {
  const uint8_t* scales = block + 96;
  for (int i = 0; i < 16; ++i) {
    const int low = scales[i % 8] >> (i / 8 * 4) & 15, high = scales[8 + i % 4] >> (i / 4 * 2) & 3;
    const float scale = HalfAt(block + 108) * static_cast<float>((low | high << 4) - 32);
    if (parts.scales != nullptr) parts.scales[i] = scale;
    if (parts.minima != nullptr) parts.minima[i] = -4 * scale;
  }
  for (int i = 0; parts.codes != nullptr && i < 256; ++i) {
    const int third = block[i % 32] >> (i / 32) & 1;
    parts.codes[i] = static_cast<uint8_t>(TwoBits(block + 32, i) | third << 2);
  }
}

void ReadQ6K(const uint8_t* block, const BlockParts& parts) {
  const uint8_t *low = block, *high = block + 128, *scales = block + 192;
  const float step = HalfAt(block + 208);
  for (int i = 0; i < 16; ++i) {
    const float scale = step * static_cast<float>(static_cast<int8_t>(scales[i]));
    if (parts.scales != nullptr) parts.scales[i] = scale;
    if (parts.minima != nullptr) parts.minima[i] = -32 * scale;
  }
  for (int i = 0; parts.codes != nullptr && i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, j = i % 32;
    const uint8_t byte = low[half * 64 + quarter % 2 * 32 + j];
    const int nibble = quarter < 2 ? byte & 15 : byte >> 4;
    parts.codes[i] = static_cast<uint8_t>(nibble | (high[half * 32 + j] >> (2 * quarter) & 3) << 4);
  }
}

/// Digit `i` of a byte that holds five digits of base 3 as a fraction of 256.
uint8_t Ternary(uint8_t byte, int i) {
  constexpr uint8_t kPowers[] = {1, 3, 9, 27, 81};
  const auto rest = static_cast<uint8_t>(byte * kPowers[i]);
  return static_cast<uint8_t>(rest * 3 >> 8);
}

void ReadTq1(const uint8_t* block, const BlockParts& parts) {
  SetAll(parts, 8, HalfAt(block + 52), -HalfAt(block + 52));
  if (parts.codes == nullptr) return;
  uint8_t* to = parts.codes;
  for (int i = 0; i < 160; ++i) *to++ = Ternary(block[i % 32], i / 32);
  for (int i = 0; i < 80; ++i) *to++ = Ternary(block[32 + i % 16], i / 16);
  for (int i = 0; i < 16; ++i) *to++ = Ternary(block[48 + i % 4], i / 4);
}
void ReadTq2(const uint8_t* block, const BlockParts& parts) {
  SetAll(parts, 8, HalfAt(block + 64), -HalfAt(block + 64));
  for (int i = 0; parts.codes != nullptr && i < 256; ++i) parts.codes[i] = TwoBits(block, i);
}

/// Of 4 bits: floats of one bit of mantissa and two of exponent, here in halves and from 16 on, so
/// that their minimum is a power of two times the scale, which is one itself.
void ReadMxfp4(const uint8_t* block, const BlockParts& parts) {
  const float scale = std::ldexp(1.0F, *block - 128);
  SetAll(parts, 1, scale, -16 * scale);
  ReadNibbles(block + 1, parts.codes);
  constexpr uint8_t kCodes[] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
  for (int i = 0; parts.codes != nullptr && i < 32; ++i) parts.codes[i] = kCodes[parts.codes[i]];
}

// id, name, elements, bytes, bits, part, read, most of the step, where it is, minima, bits of
// codes.
constexpr TensorType kTypes[] = {
    {0, "F32", 1, 4},
    {1, "F16", 1, 2},
    {2, "Q4_0", 32, 18, 4, 32, ReadQ40, 8, 0, -8, 4, 2},
    {3, "Q4_1", 32, 20, 4, 32, ReadQ41, 1, 0, 0, 4, 4},
    {6, "Q5_0", 32, 22, 8, 32, ReadQ50, 16, 0, -16, 5},
    {7, "Q5_1", 32, 24, 8, 32, ReadQ51, 1, 0, 0, 5},
    {8, "Q8_0", 32, 34, 8, 32, ReadQ80, 128, 0, -128},
    {10, "Q2_K", 256, 84, 4, 16, ReadQ2K, 0, 80},
    {11, "Q3_K", 256, 110, 4, 16, ReadQ3K, 0, 108, -4},
    {12, "Q4_K", 256, 144, 4, 32, ReadQ4K},
    {13, "Q5_K", 256, 176, 8, 32, ReadQ5K, 0, 0, 0, 5},
    {14, "Q6_K", 256, 210, 8, 16, ReadQ6K, 0, 208, -32, 6},
    {30, "BF16", 1, 2},
    {34, "TQ1_0", 256, 54, 4, 32, ReadTq1, 1, 52, -1},
    {35, "TQ2_0", 256, 66, 4, 32, ReadTq2, 1, 64, -1},
    {39, "MXFP4", 32, 17, 8, 32, ReadMxfp4, 16, -1, -16, 5},
};

float FloatAt(const TensorType& type, const uint8_t* at) {
  if (type.name == "F16") return HalfAt(at);
  uint32_t bits = 0;
  std::memcpy(reinterpret_cast<uint8_t*>(&bits) + 4 - type.bytes, at, type.bytes);
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

const TensorType* FindType(uint32_t id) {
  const auto found = std::ranges::find(kTypes, id, &TensorType::id);
  return found == std::end(kTypes) ? nullptr : &*found;
}

std::string TypeNames() {
  std::string names;
  for (const TensorType& type : kTypes) {
    if (!names.empty()) names += ", ";
    names += type.name;
  }
  return names;
}

void Dequantise(const TensorType& type, const uint8_t* blocks, int64_t count, float* out) {
  uint8_t codes[kMaxBlockElements];
  float scales[kMaxBlockElements / 16], minima[kMaxBlockElements / 16];
  for (int64_t b = 0; b < count; ++b, blocks += type.bytes, out += type.elements) {
    if (type.bits == 0) {
      *out = FloatAt(type, blocks);
      continue;
    }
    type.read(blocks, {codes, scales, minima});
    for (int64_t i = 0; i < type.elements; ++i)
      out[i] = scales[i / type.part] * static_cast<float>(codes[i]) + minima[i / type.part];
  }
}

}  // namespace fettle::gguf
