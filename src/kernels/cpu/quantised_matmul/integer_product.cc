// compiled: small
#include "kernels/cpu/quantised_matmul/integer.h"
#include "kernels/cpu/quantised_matmul/sum_scale.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Longest sum of products that i32 holds, rounded down.
constexpr int64_t kMaxDepth = 33000;

}  // namespace

Result<IntegerProduct> ReadIntegerGroup(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  IntegerProduct facts;
  ASSIGN_OR_RETURN(facts.p, ReadIntegerProduct(group, node));
  const Product& p = facts.p;
  if (p.k > kMaxDepth) return Unsupported("sums of over {} products", kMaxDepth);
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batches.empty()) return Unsupported("an empty operand");
  for (IntegerSide* side : {&facts.a, &facts.b}) {
    side->operand = side == &facts.a ? 0 : 1;
    side->is_signed = group.value(node.inputs[side->operand]).dtype == DType::kI8;
    const ir::ValueId zeros = node.input(side->operand + 2);
    if (zeros != ir::kAbsent) side->zeros = group.value(zeros).shape->elements();
  }
  if (group.nodes().size() == 1) return facts;
  if (IntegerTilesFit(facts)) return Unsupported("matrix tiles store sums alone");
  RETURN_IF_ERROR(SumScale::Read(group, RowMajorStates(group)).status());
  return facts;
}

}  // namespace fettle::kernels
