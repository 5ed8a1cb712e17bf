#include "ops/onnx_types.h"

#include <iterator>
#include <string_view>

namespace fettle::ops {
namespace {

struct Row {
  DType dtype;
  std::string_view onnx_name;
};

// Indexed by ONNX's number; kUndefined marks what Fettle has no type for.
constexpr Row kRows[] = {
    {DType::kUndefined, "UNDEFINED"},
    {DType::kF32, "FLOAT"},
    {DType::kU8, "UINT8"},
    {DType::kI8, "INT8"},
    {DType::kU16, "UINT16"},
    {DType::kI16, "INT16"},
    {DType::kI32, "INT32"},
    {DType::kI64, "INT64"},
    {DType::kString, "STRING"},
    {DType::kBool, "BOOL"},
    {DType::kF16, "FLOAT16"},
    {DType::kF64, "DOUBLE"},
    {DType::kU32, "UINT32"},
    {DType::kU64, "UINT64"},
    {DType::kComplex64, "COMPLEX64"},
    {DType::kComplex128, "COMPLEX128"},
    {DType::kBF16, "BFLOAT16"},
    {DType::kF8E4M3FN, "FLOAT8E4M3FN"},
    {DType::kUndefined, "FLOAT8E4M3FNUZ"},
    {DType::kF8E5M2, "FLOAT8E5M2"},
    {DType::kUndefined, "FLOAT8E5M2FNUZ"},
    {DType::kU4, "UINT4"},
    {DType::kI4, "INT4"},
    {DType::kUndefined, "FLOAT4E2M1"},
    {DType::kUndefined, "FLOAT8E8M0"},
    {DType::kUndefined, "UINT2"},
    {DType::kUndefined, "INT2"},
    {DType::kUndefined, "FLOAT6E2M3"},
    {DType::kUndefined, "FLOAT6E3M2"},
};

}  // namespace

Result<DType> DTypeFromOnnx(int64_t number) {
  if (number < 1 || number >= static_cast<int64_t>(std::size(kRows)))
    return InvalidModel("element type {} is not one of ONNX", number);
  const Row& row = kRows[number];
  if (row.dtype == DType::kUndefined)
    return Unsupported("element type {} is not supported", row.onnx_name);
  return row.dtype;
}

Result<DType> DTypeFromOnnxName(std::string_view name) {
  for (size_t number = 1; number < std::size(kRows); ++number) {
    if (kRows[number].onnx_name == name) return DTypeFromOnnx(static_cast<int64_t>(number));
  }
  return InvalidModel("element type '{}' is not one of ONNX", name);
}

}  // namespace fettle::ops
