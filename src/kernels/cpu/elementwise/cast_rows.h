// Casts between the numbers that exporters use, in vectors.
#pragma once

#include <algorithm>

#include "kernels/cpu/elementwise/typed_rows.h"

namespace fettle::kernels::elementwise {

struct CastPair {
  DType from, to;
  bool operator==(const CastPair&) const = default;
};

/// What FindVectorCastRow has.
inline constexpr CastPair kVectorCasts[] = {
    {DType::kF32, DType::kI8},   {DType::kF32, DType::kU8},   {DType::kF32, DType::kI32},
    {DType::kF32, DType::kI64},  {DType::kF32, DType::kBool}, {DType::kF64, DType::kI8},
    {DType::kF64, DType::kU8},   {DType::kF64, DType::kI32},  {DType::kF64, DType::kI64},
    {DType::kF64, DType::kBool}, {DType::kBool, DType::kI8},  {DType::kBool, DType::kI32},
    {DType::kBool, DType::kI64}, {DType::kBool, DType::kF32}, {DType::kBool, DType::kF64},
    {DType::kI64, DType::kF32},  {DType::kI64, DType::kF64},  {DType::kI8, DType::kU8},
    {DType::kU8, DType::kI8},
};
constexpr bool IsVectorCast(DType from, DType to) {
  return std::ranges::find(kVectorCasts, CastPair{from, to}) != std::end(kVectorCasts);
}

/// FindCastRow of a pair of kVectorCasts; null: another pair.
TypedRow FindVectorCastRow(DType from, DType to);

}  // namespace fettle::kernels::elementwise
