#include "kernels/match/expert_product.h"

#include <vector>

#include "ops/op.h"

namespace fettle::kernels {

Result<ExpertGroup> ReadExpertGroup(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "ExpertMatMul"_op)
    return Unsupported("computes ExpertMatMul only");
  using Product = ops::ExpertProduct;
  std::vector<Shape> shapes(Product::kCounts + 1);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::kAbsent) continue;
    const ir::Value& value = group.value(node.inputs[i]);
    const bool is_weight = i == Product::kWeights || i == Product::kScales || i == Product::kMinima;
    if (value.is_constant() != is_weight)
      return Unsupported("{}", is_weight ? "weights are computed" : "rows or choices are constant");
    shapes[i] = *value.shape;
  }
  ExpertGroup found{.node = &node};
  ASSIGN_OR_RETURN(found.p, ops::ReadExpertProduct(node, shapes));
  return found;
}

}  // namespace fettle::kernels
