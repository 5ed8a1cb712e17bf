// Scale and zero point of a tensor of bytes.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// real = (byte - zero) * scale, with one scale and one zero point for the whole tensor.
struct ByteType {
  DType dtype = DType::kU8;  // or i8
  double scale = 1;
  int64_t zero = 0;
  bool operator==(const ByteType&) const = default;

  int64_t low() const { return dtype == DType::kI8 ? -128 : 0; }
  int64_t high() const { return dtype == DType::kI8 ? 127 : 255; }
  /// The integer that QuantizeLinear makes of a number, in fp32 as ONNX defines it.
  int64_t Quantise(double value) const;
};

/// Of the integers that a QuantizeLinear writes or a DequantizeLinear reads. kUnsupported with the
/// reason where they are not bytes or their parameters are not two constants.
Result<ByteType> ReadByteType(const ir::Graph& graph, const ir::Node& node);

}  // namespace fettle::passes
