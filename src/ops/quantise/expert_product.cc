#include "ops/quantise/expert_product.h"

#include <vector>

#include "ops/infer.h"
#include "ops/quantise/block_product.h"

namespace fettle::ops {
namespace {

Status CheckBlocks(const ExpertProduct& p, std::span<const Shape> shapes) {
  if (p.block != 16 && p.block != kMaxProductBlock)
    return InvalidModel("attribute 'block_size': expected 16|32, got {}", p.block);
  if (p.k % p.block != 0)
    return InvalidModel("rows of {} are not whole blocks of {}", p.k, p.block);
  const Shape want = {p.experts, p.n, p.k / p.block};
  for (size_t i : {ExpertProduct::kScales, ExpertProduct::kMinima}) {
    if (shapes[i] != want)
      return InvalidModel("input {}: expected {} scales, got {}", i, want.ToString(),
                          shapes[i].ToString());
  }
  return OkStatus();
}

}  // namespace

Result<ExpertProduct> ReadExpertProduct(const ir::Node& node, std::span<const Shape> shapes) {
  const Shape &a = shapes[ExpertProduct::kRows], &chosen = shapes[ExpertProduct::kChosen],
              &w = shapes[ExpertProduct::kWeights];
  if (w.rank() != 3 || w.elements() == 0)
    return InvalidModel("weights {}: expected [experts, n, k]", w.ToString());
  ExpertProduct p{.experts = w[0], .n = w[1], .k = w[2]};
  p.own_rows = a.rank() == chosen.rank() + 1;
  bool fits = chosen.rank() >= 1 && (p.own_rows || a.rank() == chosen.rank());
  for (int i = 0; fits && i < a.rank() - 1; ++i) fits = a[i] == chosen[i];
  if (!fits || a[a.rank() - 1] != p.k || chosen[chosen.rank() - 1] < 1)
    return InvalidModel("rows {}, choices {} and weights {} do not fit", a.ToString(),
                        chosen.ToString(), w.ToString());
  p.used = chosen[chosen.rank() - 1];
  p.rows = chosen.elements() / p.used;
  p.summed = node.input(ExpertProduct::kCounts) != ir::kAbsent;
  if (p.summed && shapes[ExpertProduct::kCounts] != chosen)
    return InvalidModel("choices {} and what they count {} differ", chosen.ToString(),
                        shapes[ExpertProduct::kCounts].ToString());
  const bool in_blocks = node.input(ExpertProduct::kScales) != ir::kAbsent;
  if (in_blocks != (node.input(ExpertProduct::kMinima) != ir::kAbsent))
    return InvalidModel("codes need scales and minima");
  if (!in_blocks) return p;
  p.block = node.attributes.Int("block_size", kMaxProductBlock);
  RETURN_IF_ERROR(CheckBlocks(p, shapes));
  return p;
}

Status NoSuchExpert(int64_t index, int64_t experts) {
  return InvalidArgument("expert {} of {} is chosen", index, experts);
}

Status InferExpertMatMul(InferContext& context) {
  const bool in_blocks = context.has_input(ExpertProduct::kScales);
  RETURN_IF_ERROR(CheckType(context, ExpertProduct::kRows, TypeBit(DType::kF32)));
  RETURN_IF_ERROR(
      CheckType(context, ExpertProduct::kChosen, TypeBit(DType::kI32) | TypeBit(DType::kI64)));
  RETURN_IF_ERROR(
      CheckType(context, ExpertProduct::kWeights,
                in_blocks ? TypeBit(DType::kU4) | TypeBit(DType::kU8) : TypeBit(DType::kF32)));
  RETURN_IF_ERROR(CheckTypes(context, ExpertProduct::kScales, ExpertProduct::kCounts,
                             TypeBit(DType::kF32) | TypeBit(DType::kF16)));
  RETURN_IF_ERROR(CheckType(context, ExpertProduct::kCounts, TypeBit(DType::kF32)));
  std::vector<Shape> shapes;
  for (size_t i = 0; i <= ExpertProduct::kCounts; ++i)
    shapes.push_back(context.has_input(static_cast<int>(i)) ? context.shape(static_cast<int>(i))
                                                            : Shape());
  ASSIGN_OR_RETURN(const ExpertProduct p, ReadExpertProduct(context.node(), shapes));
  Dims dims = shapes[ExpertProduct::kChosen].dims();
  if (p.summed) dims.pop_back();
  dims.push_back(p.n);
  context.SetOutput(0, DType::kF32, Shape(dims));
  return OkStatus();
}

int64_t ExpertMatMulMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape>) {
  const Shape& w = inputs[ExpertProduct::kWeights];
  return inputs[ExpertProduct::kChosen].elements() * w[1] * w[2];
}

}  // namespace fettle::ops
