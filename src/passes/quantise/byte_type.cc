#include "passes/quantise/byte_type.h"

#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

/// The integers' type; the values' own may not be inferred yet.
DType IntegersOf(const ir::Graph& graph, const ir::Node& node) {
  if (node.op == "DequantizeLinear"_op) return graph.value(node.input(0)).dtype;
  if (node.input(2) != ir::kAbsent) return graph.value(node.input(2)).dtype;
  const std::string name = node.attributes.Text("output_dtype");
  return name.empty() ? DType::kU8 : DTypeFromName(name).value_or(DType::kUndefined);
}

}  // namespace

int64_t ByteType::Quantise(double value) const {
  const float steps = std::nearbyint(static_cast<float>(value) / static_cast<float>(scale));
  if (std::isnan(steps)) return zero;
  return std::clamp(static_cast<int64_t>(std::clamp(steps, -1e9f, 1e9f)) + zero, low(), high());
}

Result<ByteType> ReadByteType(const ir::Graph& graph, const ir::Node& node) {
  ByteType type{.dtype = IntegersOf(graph, node)};
  if (type.dtype != DType::kU8 && type.dtype != DType::kI8)
    return Unsupported("its integers are {}, not bytes", DTypeName(type.dtype));
  const Constant* scale = ConstantOf(graph, node.input(1));
  if (scale == nullptr) return Unsupported("its scale is computed at run time");
  if (scale->elements() != 1 || node.attributes.Int("block_size", 0) != 0)
    return Unsupported("it has {} scales", scale->elements());
  type.scale = scale->GetDouble(0);
  if (node.input(2) == ir::kAbsent) return type;
  const Constant* zero = ConstantOf(graph, node.input(2));
  if (zero == nullptr) return Unsupported("its zero point is computed at run time");
  if (zero->elements() != 1) return Unsupported("it has {} zero points", zero->elements());
  type.zero = zero->GetInt(0);
  return type;
}

}  // namespace fettle::passes
