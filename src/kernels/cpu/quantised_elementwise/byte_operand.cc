// compiled: small
#include "kernels/cpu/quantised_elementwise/byte_operand.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/quantised/affine.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Quantising is monotonic: clamping before it and clamping its result agree.
Status ReadClamp(const ir::Graph& group, const ir::Node& node, ByteTail& result) {
  float least = 0, most = std::numeric_limits<float>::infinity();
  if (node.op == "Clip"_op) {
    least = -most;
    if (node.input(1) != ir::kAbsent) {
      ASSIGN_OR_RETURN(least, ScalarConstant(group, node.inputs[1]));
    }
    if (node.input(2) != ir::kAbsent) {
      ASSIGN_OR_RETURN(most, ScalarConstant(group, node.inputs[2]));
    }
    if (!(least <= most)) return Unsupported("a Clip to nothing");
  }
  const auto quantise = [&](float bound) {
    return std::clamp(std::nearbyint(bound / result.type.scale) + result.type.zero, 0.0f, 255.0f);
  };
  result.low = quantise(least);
  result.high = quantise(most);
  return OkStatus();
}

}  // namespace

Result<ByteOperand> ReadByteOperand(const ir::Graph& group, const ir::Node& node, DType bytes) {
  if (bytes != DType::kU8 && bytes != DType::kI8) return Unsupported("integers other than bytes");
  ByteOperand type;
  ASSIGN_OR_RETURN(type.scale, ScalarConstant(group, node.inputs[1]));
  if (!(type.scale > 0) || !std::isnormal(type.scale) || !std::isnormal(1 / type.scale))
    return Unsupported("the scale {}", type.scale);
  if (node.input(2) != ir::kAbsent) {
    ASSIGN_OR_RETURN(type.zero, ScalarConstant(group, node.inputs[2]));
  }
  return UnsignedBytes(bytes, type.scale, type.zero);
}

ByteOperand UnsignedBytes(DType bytes, float scale, float zero) {
  const bool is_signed = bytes == DType::kI8;
  return {.flip = static_cast<uint8_t>(is_signed ? 0x80 : 0),
          .zero = is_signed ? zero + 128 : zero,
          .scale = scale};
}

Result<ByteTail> ReadByteTail(const ir::Graph& group) {
  const ir::Node& last = group.nodes().back();
  if (last.op != "QuantizeLinear"_op || group.outputs.size() != 1 ||
      group.outputs[0] != last.output(0)) {
    return Unsupported("computes groups that end in QuantizeLinear only");
  }
  ByteTail result;
  ASSIGN_OR_RETURN(result.type, ReadByteOperand(group, last, group.value(last.output(0)).dtype));
  result.of = last.inputs[0];
  for (const ir::Node& node : group.nodes()) {
    if (node.output(0) != result.of || (node.op != "Relu"_op && node.op != "Clip"_op)) continue;
    RETURN_IF_ERROR(ReadClamp(group, node, result));
    result.of = node.inputs[0];
    ++result.nodes;
    break;
  }
  return result;
}

}  // namespace fettle::kernels
