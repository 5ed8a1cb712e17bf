// What inference functions of many families check: types, broadcasting, axes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/op.h"

namespace fettle::ops {

/// A set of element types, one bit each.
using TypeSet = uint32_t;
constexpr TypeSet TypeBit(DType dtype) { return TypeSet{1} << static_cast<unsigned>(dtype); }
inline constexpr TypeSet kBoolType = TypeBit(DType::kBool);
inline constexpr TypeSet kFloatTypes =
    TypeBit(DType::kF32) | TypeBit(DType::kF16) | TypeBit(DType::kBF16) | TypeBit(DType::kF64);
inline constexpr TypeSet kSignedTypes =
    TypeBit(DType::kI8) | TypeBit(DType::kI16) | TypeBit(DType::kI32) | TypeBit(DType::kI64);
inline constexpr TypeSet kUnsignedTypes =
    TypeBit(DType::kU8) | TypeBit(DType::kU16) | TypeBit(DType::kU32) | TypeBit(DType::kU64);
inline constexpr TypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr TypeSet kNumericTypes = kFloatTypes | kIntegerTypes;
inline constexpr TypeSet kFloat8Types = TypeBit(DType::kF8E4M3FN) | TypeBit(DType::kF8E5M2);
inline constexpr TypeSet kInt4Types = TypeBit(DType::kI4) | TypeBit(DType::kU4);
inline constexpr TypeSet kAllTypes = kNumericTypes | kBoolType | kFloat8Types | kInt4Types;

/// "floats, integers" for the common sets; the names of the types for others.
std::string TypeSetName(TypeSet types);

/// kInvalidModel if input `i` is present with a type outside `types`; kUnsupported for strings and
/// complex numbers.
Status CheckType(const InferContext& context, int i, TypeSet types);
/// The same for inputs [first, last), which must also agree with each other.
Status CheckTypes(const InferContext& context, int first, int last, TypeSet types);

/// The shape that the present inputs [first, last) broadcast to.
Result<Shape> BroadcastInputs(const InferContext& context, int first, int last);

}  // namespace fettle::ops
