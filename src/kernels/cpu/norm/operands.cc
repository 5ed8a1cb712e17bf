// compiled: small
#include "kernels/cpu/norm/operands.h"

#include <algorithm>

#include "kernels/cpu/operands.h"

namespace fettle::kernels {

VectorOperand::VectorOperand(const ir::Graph& group, ir::ValueId id, const Shape& shape,
                             std::vector<PackRequest>& packs) {
  if (id == ir::kAbsent) return;
  const ir::Value& value = group.value(id);
  if (!value.is_constant()) {
    const auto at = std::find(group.inputs.begin(), group.inputs.end(), id);
    input_ = static_cast<int>(at - group.inputs.begin());
    return;
  }
  pack_ = static_cast<int>(packs.size());
  packs.push_back({{id},
                   fmt::format("row.{}.f32", shape.ToString()),
                   shape.elements() * 4,
                   [shape](std::span<const Constant* const> constants, std::byte* out) {
                     const Constant& constant = *constants[0];
                     const int lead = shape.rank() - constant.shape().rank();
                     const Dims own = RowMajorStrides(constant.shape());
                     std::vector<int64_t> coordinate(shape.rank());
                     for (int64_t i = 0; i < shape.elements(); ++i) {
                       Unravel(i, shape, coordinate);
                       int64_t from = 0;
                       for (size_t k = 0; k < own.size(); ++k) {
                         if (constant.shape()[static_cast<int>(k)] != 1)
                           from += coordinate[static_cast<size_t>(lead) + k] * own[k];
                       }
                       reinterpret_cast<float*>(out)[i] =
                           static_cast<float>(constant.GetDouble(from));
                     }
                     return OkStatus();
                   }});
}

const float* VectorOperand::At(const LaunchArgs& args) const {
  if (input_ >= 0) return args.inputs[input_].host<float>();
  if (pack_ >= 0) return args.packed[pack_].host<float>();
  return nullptr;
}

Status CheckNormNode(const ir::Graph& group) {
  if (group.nodes().size() != 1) return Unsupported("computes normalisations only, alone");
  const ir::Node& node = group.nodes()[0];
  if (group.outputs.size() != 1 || group.outputs[0] != node.output(0))
    return Unsupported("statistics as outputs are left to the reference");
  if (node.input(0) == ir::kAbsent || group.value(node.inputs[0]).is_constant() ||
      std::count(node.inputs.begin(), node.inputs.end(), node.inputs[0]) != 1) {
    return Unsupported("the first operand is a constant or used twice");
  }
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kAbsent) continue;
    const DType dtype = group.value(id).dtype;
    RETURN_IF_ERROR(CheckFloat(dtype));
  }
  return OkStatus();
}

StateAssignment NormStates(const ir::Graph& group, const Layout& layout) {
  StateAssignment states;
  const ir::ValueId x = group.nodes()[0].inputs[0];
  for (ir::ValueId id : group.inputs)
    states.inputs.push_back({.layout = id == x ? layout : Layout::RowMajor()});
  states.outputs.push_back({.layout = layout});
  return states;
}

}  // namespace fettle::kernels
