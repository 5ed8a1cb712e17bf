// compiled: small
#include <algorithm>

#include "kernels/cpu/quantised_matmul/integer.h"
#include "kernels/cpu/quantised_matmul/sum_scale.h"
#include "kernels/family.h"
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

Result<std::vector<StateAssignment>> IntegerStates(const ir::Graph& group, const IntegerProduct&,
                                                   const Device&) {
  std::vector<StateAssignment> states{RowMajorStates(group)};
  if (group.nodes().size() == 1) {
    AddCallersMemory(group, states);
    return states;
  }
  const ir::Node& node = group.nodes()[0];
  for (size_t sides = 1; sides < 4; ++sides) {
    StateAssignment next = states[0];
    for (size_t i = 0; i < 4; ++i) {
      const auto at = std::find(group.inputs.begin(), group.inputs.end(), node.input(i));
      if (at != group.inputs.end() && (sides >> i % 2 & 1) != 0)
        next.inputs[at - group.inputs.begin()].external = true;
    }
    states.push_back(std::move(next));
  }
  return states;
}

}  // namespace fettle::kernels
