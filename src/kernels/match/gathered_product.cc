#include "kernels/match/gathered_product.h"

#include "ops/op.h"

namespace fettle::kernels {

Result<GatheredProduct> ReadGatheredProduct(const ir::Graph& group) {
  const auto& nodes = group.nodes();
  if (nodes.size() != 2 || nodes[0].op != "Gather"_op || nodes[1].op != "MatMul"_op)
    return Unsupported("computes Gather and MatMul only");
  const ir::Node &gather = nodes[0], &product = nodes[1];
  const ir::ValueId chosen = gather.outputs[0];
  GatheredProduct made{.w = gather.inputs[0], .indices = gather.inputs[1]};
  made.by_rows = product.inputs[0] == chosen;
  made.x = product.inputs[made.by_rows ? 1 : 0];
  if (made.x == chosen) return Unsupported("both operands are gathered");
  const Shape &w = *group.value(made.w).shape, &x = *group.value(made.x).shape;
  const Shape& indices = *group.value(made.indices).shape;
  if (!IsFloat(group.value(made.w).dtype)) return Unsupported("matrices that are not floats");
  if (w.rank() != 3 || indices.rank() != 1 || NormaliseAxis(gather.attributes.Int("axis"), 3) != 0)
    return Unsupported("Gather takes no whole matrices");
  if (x.rank() != 3 || x[0] != indices[0] || x[made.by_rows ? 2 : 1] != 1)
    return Unsupported("a matrix for more than one row");
  made.tokens = indices[0];
  made.matrices = w[0];
  made.depth = w[made.by_rows ? 2 : 1];
  made.results = w[made.by_rows ? 1 : 2];
  return made;
}

}  // namespace fettle::kernels
