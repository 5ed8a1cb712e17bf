#include "kernels/cpu/quantised/affine.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }
bool IsHeldInFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Scale and zero point of a Quantize- or DequantizeLinear whose integers are of type `dtype`.
Result<AffineType> ReadType(const ir::Graph& group, const ir::Node& node, DType dtype) {
  if (!IsByte(dtype)) return Unsupported("integers other than u8 and i8");
  AffineType type{.storage = dtype};
  ASSIGN_OR_RETURN(type.scale, ScalarConstant(group, node.inputs[1]));
  if (node.input(2) != ir::kAbsent) {
    ASSIGN_OR_RETURN(type.zero, ScalarConstant(group, node.inputs[2]));
  }
  return type;
}

}  // namespace

float AffineGroup::least() const { return to.storage == DType::kI8 ? -128.0f : 0.0f; }
float AffineGroup::greatest() const { return to.storage == DType::kI8 ? 127.0f : 255.0f; }

Result<float> ScalarConstant(const ir::Graph& group, ir::ValueId id) {
  const auto& constant = group.value(id).constant;
  if (constant == nullptr || constant->elements() == 0 ||
      (constant->elements() != 1 && !constant->is_splat())) {
    return Unsupported("a scale or zero point that is not a constant scalar");
  }
  return static_cast<float>(constant->GetDouble(0));
}

Result<AffineGroup> ReadAffineGroup(const ir::Graph& group,
                                    bool (*takes_bytes)(const ir::Node& node)) {
  const auto& nodes = group.nodes();
  if (group.inputs.empty() || group.outputs.size() != 1)
    return Unsupported("not one operator with one output");
  AffineGroup result;
  if (nodes.size() == 1) {
    result.node = &nodes[0];
    result.input = nodes[0].input(0);
    result.output = nodes[0].output(0);
    if (result.input == ir::kAbsent || group.value(result.input).is_constant())
      return Unsupported("the operand is a constant");
    const DType dtype = group.value(result.input).dtype;
    if (IsByte(dtype) && takes_bytes != nullptr && takes_bytes(nodes[0])) {
      result.from.storage = result.to.storage = dtype;
      result.is_bare = true;
    } else if (!IsHeldInFloat(dtype)) {
      return Unsupported("a type that is not computed in fp32");
    }
  } else if (nodes.size() == 3 && nodes[0].op == "DequantizeLinear"_op &&
             nodes[2].op == "QuantizeLinear"_op && nodes[1].input(0) == nodes[0].output(0) &&
             nodes[2].input(0) == nodes[1].output(0)) {
    result.node = &nodes[1];
    result.input = nodes[0].input(0);
    result.output = nodes[2].output(0);
    ASSIGN_OR_RETURN(result.from, ReadType(group, nodes[0], group.value(result.input).dtype));
    ASSIGN_OR_RETURN(result.to, ReadType(group, nodes[2], group.value(result.output).dtype));
  } else {
    return Unsupported(
        "computes one operator only, alone or between DequantizeLinear and QuantizeLinear");
  }
  const bool one_input = std::count(group.inputs.begin(), group.inputs.end(), result.input) == 1 &&
                         group.inputs.size() == 1;
  if (!one_input || result.output != group.outputs[0])
    return Unsupported("other operands than one input and one output");
  return result;
}

}  // namespace fettle::kernels
