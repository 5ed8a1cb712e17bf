// Import rules of quantisation, and of the operators on quantised operands, which become
// DequantizeLinear -> operator -> QuantizeLinear.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"
#include "tensor/packed_rows.h"

namespace fettle::ops {

std::span<const ImportRule> QuantiseImports(std::string_view op);

/// onnx_qlinear.cc: the rules of QLinear* and QGemm; onnx_nbits.cc: that of MatMulNBits.
std::span<const ImportRule> QLinearRules();
Status ImportMatMulNBits(ImportContext& context);

/// Elements of `dtype` (u4 or u8) of rows that `packed`, bytes, has side by side; they are unpacked
/// when read. Fails with kInvalidModel where `packed` has another size or type.
Result<Constant> UnpackBits(const Constant& packed, DType dtype, const PackedRows& layout,
                            bool transposed);

}  // namespace fettle::ops
