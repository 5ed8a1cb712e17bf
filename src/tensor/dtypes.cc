// The table of element types: one row each, in the order of DType.
#include <iterator>

#include "tensor/dtype.h"

namespace fettle {
namespace {

using enum DTypeClass;

constexpr DTypeRow kRows[] = {
    // clang-format off
    // type               name          class      bits  stored
    {DType::kUndefined,   "undefined",  kNone,        0,      0},
    {DType::kF32,         "f32",        kFloat,      32,     32},
    {DType::kF16,         "f16",        kFloat,      16,     16},
    {DType::kBF16,        "bf16",       kFloat,      16,     16},
    {DType::kF64,         "f64",        kFloat,      64,     64},
    {DType::kI8,          "i8",         kSigned,      8,      8},
    {DType::kU8,          "u8",         kUnsigned,    8,      8},
    {DType::kI16,         "i16",        kSigned,     16,     16},
    {DType::kU16,         "u16",        kUnsigned,   16,     16},
    {DType::kI32,         "i32",        kSigned,     32,     32},
    {DType::kU32,         "u32",        kUnsigned,   32,     32},
    {DType::kI64,         "i64",        kSigned,     64,     64},
    {DType::kU64,         "u64",        kUnsigned,   64,     64},
    {DType::kBool,        "bool",       kBool,        8,      8},
    {DType::kI4,          "i4",         kSigned,      4,      8},  // the low half, sign extended
    {DType::kU4,          "u4",         kUnsigned,    4,      8},  // the low half, the high one 0
    {DType::kF8E4M3FN,    "f8e4m3fn",   kFloat,       8,      8},
    {DType::kF8E5M2,      "f8e5m2",     kFloat,       8,      8},
    {DType::kString,      "string",     kNone,        0,      0},
    {DType::kComplex64,   "complex64",  kComplex,    64,     64},
    {DType::kComplex128,  "complex128", kComplex,   128,    128},
    // clang-format on
};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(IsInOrder());

}  // namespace

std::span<const DTypeRow> DTypeTable() { return kRows; }
const DTypeRow& RowOf(DType dtype) { return kRows[static_cast<int>(dtype)]; }

}  // namespace fettle
