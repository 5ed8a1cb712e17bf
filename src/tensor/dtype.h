// Element types: what a value's elements mean (in the graph) and how they are stored (in a state).
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace fettle {

/// Order is stable: text forms and packages use the names, never the numbers.
/// kString, kComplex64 and kComplex128 exist so that messages can name them; no operator computes
/// on them.
enum class DType : uint8_t {
  kUndefined,
  kF32,
  kF16,
  kBF16,
  kF64,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kI4,
  kU4,
  kF8E4M3FN,
  kF8E5M2,
  kString,
  kComplex64,
  kComplex128,
};

/// What the bits of an element mean.
enum class DTypeClass : uint8_t { kNone, kFloat, kSigned, kUnsigned, kBool, kComplex };

/// What there is to know of an element type.
struct DTypeRow {
  DType dtype;
  std::string_view name;
  DTypeClass kind;
  /// Of a value: what files pack and BitCast compares.
  int bits;
  /// Of an element in a tensor, from its first bit to that of the next one: a multiple of 8, or a
  /// divisor where elements share bytes. 0: no tensor holds such elements.
  int stored_bits;
};

/// All types, in the order of DType (dtypes.cc).
std::span<const DTypeRow> DTypeTable();
const DTypeRow& RowOf(DType dtype);

std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
bool IsFloat(DType dtype);
/// Integers including kI4/kU4; kBool is not one.
bool IsInteger(DType dtype);
bool IsSigned(DType dtype);
/// Integers narrower than a byte, which files pack.
bool IsSubByte(DType dtype);
/// Whether tensors can hold elements of the type: not kUndefined, nor kString.
inline bool IsStored(DType dtype) { return RowOf(dtype).stored_bits != 0; }

/// Bytes of `elements` fields of `bits` bits without gaps; the last byte may be filled in part.
constexpr int64_t PackedBytes(int bits, int64_t elements) {
  return (elements * bits + 7) >> 3;  // rounds down below zero, so that offsets may be negative
}
/// Bytes that `elements` neighbours take in a tensor. Also the offset of element `elements`, where
/// that starts a byte.
inline int64_t StorageBytes(DType dtype, int64_t elements) {
  return PackedBytes(RowOf(dtype).stored_bits, elements);
}
/// Bytes of an element that has an address of its own, to choose code by; sizes and offsets are
/// StorageBytes. 0 for kUndefined and kString.
inline int64_t ByteSize(DType dtype) { return StorageBytes(dtype, 1); }

/// IEEE binary16 in memory. Conversion from float rounds to nearest even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};
/// bfloat16 in memory. Conversion from float rounds to nearest even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
};
/// 8-bit floats of the ONNX types FLOAT8E4M3FN and FLOAT8E5M2; conversion saturates.
struct F8E4M3FN {
  uint8_t bits = 0;
  F8E4M3FN() = default;
  explicit F8E4M3FN(float value);
  explicit operator float() const;
};
struct F8E5M2 {
  uint8_t bits = 0;
  F8E5M2() = default;
  explicit F8E5M2(float value);
  explicit operator float() const;
};

template <typename T>
inline constexpr bool kIsReducedFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
                                        std::is_same_v<T, F8E4M3FN> || std::is_same_v<T, F8E5M2>;
/// float, double or one of the reduced types.
template <typename T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsReducedFloat<T>;
/// The type to compute in: double for every float type, int64_t / uint64_t for integers, bool stays
/// bool.
template <typename T>
using Wide = std::conditional_t<
    kIsFloating<T>, double,
    std::conditional_t<std::is_same_v<T, bool>, bool,
                       std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>;

template <typename T>
Wide<T> Widen(T value) {
  if constexpr (kIsReducedFloat<T>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<Wide<T>>(value);
  }
}
template <typename T, typename W>
T Narrow(W value) {
  if constexpr (kIsReducedFloat<T>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`'s host elements (kI4 as int8_t,
/// kU4 as uint8_t). Returns false, without a call, for kUndefined, kString and the complex types.
template <typename F>
bool DispatchDType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32: f.template operator()<float>(); return true;
    case DType::kF16: f.template operator()<Half>(); return true;
    case DType::kBF16: f.template operator()<BFloat16>(); return true;
    case DType::kF64: f.template operator()<double>(); return true;
    case DType::kI8:
    case DType::kI4: f.template operator()<int8_t>(); return true;
    case DType::kU8:
    case DType::kU4: f.template operator()<uint8_t>(); return true;
    case DType::kI16: f.template operator()<int16_t>(); return true;
    case DType::kU16: f.template operator()<uint16_t>(); return true;
    case DType::kI32: f.template operator()<int32_t>(); return true;
    case DType::kU32: f.template operator()<uint32_t>(); return true;
    case DType::kI64: f.template operator()<int64_t>(); return true;
    case DType::kU64: f.template operator()<uint64_t>(); return true;
    case DType::kBool: f.template operator()<bool>(); return true;
    case DType::kF8E4M3FN: f.template operator()<F8E4M3FN>(); return true;
    case DType::kF8E5M2: f.template operator()<F8E5M2>(); return true;
    case DType::kUndefined:
    case DType::kString:
    case DType::kComplex64:
    case DType::kComplex128: return false;
  }
  return false;
}

/// The DType whose host elements are T.
template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, Half>) return DType::kF16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::kBF16;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::kI16;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::kU16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::kU32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kI64;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kU64;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  return DType::kUndefined;
}

}  // namespace fettle
