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

Status ReadChoices(std::span<const Shape> shapes, ExpertProduct& p) {
  const Shape &a = shapes[ExpertProduct::kRows], &chosen = shapes[ExpertProduct::kChosen];
  p.own_rows = a.rank() == chosen.rank() + 1;
  bool fits = chosen.rank() >= 1 && (p.own_rows || a.rank() == chosen.rank());
  for (int i = 0; fits && i < a.rank() - 1; ++i) fits = a[i] == chosen[i];
  if (!fits || a[a.rank() - 1] != p.k || chosen[chosen.rank() - 1] < 1)
    return InvalidModel("rows {} and choices {} do not fit, or are not of {}", a.ToString(),
                        chosen.ToString(), p.k);
  p.used = chosen[chosen.rank() - 1];
  p.rows = chosen.elements() / p.used;
  if (p.summed && shapes[ExpertProduct::kCounts] != chosen)
    return InvalidModel("choices {} and what they count {} differ", chosen.ToString(),
                        shapes[ExpertProduct::kCounts].ToString());
  return OkStatus();
}

/// Of one expert, or of rows for all of them.
Status ReadRows(std::span<const Shape> shapes, ExpertProduct& p) {
  const Shape& a = shapes[ExpertProduct::kRows];
  p.own_rows = p.experts != 1;
  const bool fits = a.rank() >= (p.own_rows ? 2 : 1) && a[a.rank() - 1] == p.k;
  if (p.summed || !fits || (p.own_rows && a[a.rank() - 2] != p.experts))
    return InvalidModel("rows {} do not fit {} experts of which none is chosen, or are not of {}",
                        a.ToString(), p.experts, p.k);
  p.used = p.own_rows ? p.experts : 1;
  p.rows = a.elements() / p.k / p.used;
  return OkStatus();
}

}  // namespace

Result<ExpertProduct> ReadExpertProduct(const ir::Node& node, std::span<const Shape> shapes) {
  const Shape& w = shapes[ExpertProduct::kWeights];
  if (w.rank() != 3 || w.elements() == 0)
    return InvalidModel("weights {}: expected [experts, n, k]", w.ToString());
  ExpertProduct p{.experts = w[0], .n = w[1], .k = w[2]};
  p.chooses = node.input(ExpertProduct::kChosen) != ir::kAbsent;
  p.summed = node.input(ExpertProduct::kCounts) != ir::kAbsent;
  RETURN_IF_ERROR(p.chooses ? ReadChoices(shapes, p) : ReadRows(shapes, p));
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
  Dims dims = shapes[p.chooses ? ExpertProduct::kChosen : ExpertProduct::kRows].dims();
  if (p.summed || !p.chooses) dims.pop_back();
  dims.push_back(p.n);
  context.SetOutput(0, DType::kF32, Shape(dims));
  return OkStatus();
}

int64_t ExpertMatMulMacs(const ir::Node& node, std::span<const Shape> inputs,
                         std::span<const Shape>) {
  const Result<ExpertProduct> p = ReadExpertProduct(node, inputs);
  return p.ok() ? p->choices() * p->n * p->k : 0;
}

}  // namespace fettle::ops
