// Tensors of bytes as kernels of element-wise operators see them: unsigned, with one scale.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// real = ((byte ^ flip) - zero) * scale. Signed bytes are unsigned ones with their upper bit
/// flipped and 128 added to the zero point. Scales are positive and normal, as is their reciprocal.
struct ByteOperand {
  uint8_t flip = 0;
  float zero = 0, scale = 1;
};

ByteOperand UnsignedBytes(DType bytes, float scale, float zero);

/// Of a Quantize- or DequantizeLinear in `group` whose integers are of type `bytes`.
Result<ByteOperand> ReadByteOperand(const ir::Graph& group, const ir::Node& node, DType bytes);

/// What an element-wise group ends in: a QuantizeLinear of bytes, after a clamp or none.
struct ByteTail {
  ByteOperand type;
  float low = 0, high = 255;     // of byte ^ flip: the clamp's bounds, quantised
  ir::ValueId of = ir::kAbsent;  // what is clamped
  size_t nodes = 1;              // that it takes
};
/// Fails with kUnsupported and the reason.
Result<ByteTail> ReadByteTail(const ir::Graph& group);

}  // namespace fettle::kernels
