#include "tensor/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fettle {
namespace {

/// Rounds `value` to a float format with `mantissa` bits, minimum exponent `min_exponent` (of
/// normal numbers), as an integer significand and exponent; `value` is finite and positive.
struct Rounded {
  uint32_t significand;  // in units of 2^(exponent - mantissa)
  int exponent;
};
Rounded RoundTo(float value, int mantissa, int min_exponent) {
  int exponent = std::max(std::ilogb(value), min_exponent);
  const double scaled = std::ldexp(static_cast<double>(value), mantissa - exponent);
  auto significand = static_cast<uint32_t>(std::nearbyint(scaled));
  if (significand >> (mantissa + 1)) {
    significand >>= 1;
    ++exponent;
  }
  return {significand, exponent};
}

uint8_t EncodeF8(float value, int mantissa, int bias, uint8_t max_finite, uint8_t nan) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  if (std::isnan(value)) return sign | nan;
  const float magnitude = std::fabs(value);
  if (magnitude == 0.0f) return sign;
  if (std::isinf(value)) return sign | max_finite;
  const Rounded r = RoundTo(magnitude, mantissa, 1 - bias);
  const bool normal = (r.significand >> mantissa) != 0;
  const int bits = normal ? ((r.exponent + bias) << mantissa) +
                                static_cast<int>(r.significand & ((1u << mantissa) - 1))
                          : static_cast<int>(r.significand);
  return sign | static_cast<uint8_t>(std::min<int>(bits, max_finite));
}

float DecodeF8(uint8_t bits, int mantissa, int bias) {
  const int exponent = (bits & 0x7f) >> mantissa;
  const int fraction = bits & ((1 << mantissa) - 1);
  const float magnitude =
      exponent == 0
          ? std::ldexp(static_cast<float>(fraction), 1 - bias - mantissa)
          : std::ldexp(static_cast<float>(fraction + (1 << mantissa)), exponent - bias - mantissa);
  return bits & 0x80 ? -magnitude : magnitude;
}

}  // namespace

std::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const DTypeRow& row : DTypeTable()) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) { return RowOf(dtype).kind == DTypeClass::kFloat; }
bool IsInteger(DType dtype) {
  return RowOf(dtype).kind == DTypeClass::kSigned || RowOf(dtype).kind == DTypeClass::kUnsigned;
}
bool IsSigned(DType dtype) { return RowOf(dtype).kind == DTypeClass::kSigned || IsFloat(dtype); }
bool IsSubByte(DType dtype) { return IsInteger(dtype) && RowOf(dtype).bits < 8; }

Half::Half(float value) {
  const auto f = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (f >> 16) & 0x8000u;
  const uint32_t magnitude = f & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // infinity or NaN; a NaN stays one
    bits = static_cast<uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u : 0u));
  } else if (magnitude >= 0x477ff000u) {  // rounds to at least 65536
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude <
             0x38800000u) {  // subnormal: adding 0.5 lets the FPU round at the right bit
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  } else {
    const uint32_t odd = (magnitude >> 13) & 1u;
    bits = static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
}

Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x400u) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

BFloat16::BFloat16(float value) {
  const auto f = std::bit_cast<uint32_t>(value);
  if ((f & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<uint16_t>((f >> 16) | 0x40u);
  } else {
    bits = static_cast<uint16_t>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

F8E4M3FN::F8E4M3FN(float value) : bits(EncodeF8(value, 3, 7, 0x7e, 0x7f)) {}
F8E4M3FN::operator float() const {
  return (bits & 0x7f) == 0x7f ? std::nanf("") : DecodeF8(bits, 3, 7);
}
F8E5M2::F8E5M2(float value) : bits(EncodeF8(value, 2, 15, 0x7b, 0x7f)) {}
F8E5M2::operator float() const {
  if ((bits & 0x7f) > 0x7c) return std::nanf("");
  if ((bits & 0x7f) == 0x7c) return bits & 0x80 ? -INFINITY : INFINITY;
  return DecodeF8(bits, 2, 15);
}

}  // namespace fettle
