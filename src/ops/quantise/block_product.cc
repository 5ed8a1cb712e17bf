#include "ops/quantise/block_product.h"

#include <vector>

#include "ops/infer.h"
#include "ops/quantise/onnx.h"

namespace fettle::ops {

Result<BlockProduct> ReadBlockProduct(const ir::Node& node, std::span<const Shape> shapes) {
  const Shape &a = shapes[0], &codes = shapes[1];
  BlockProduct p;
  p.block = node.attributes.Int("block_size", kMaxProductBlock);
  if (p.block != 16 && p.block != kMaxProductBlock)
    return InvalidModel("attribute 'block_size': expected 16|32, got {}", p.block);
  if (a.rank() < 1 || codes.rank() != 2 || a[a.rank() - 1] != codes[1] || codes[0] < 1 ||
      codes[1] < p.block || codes[1] % p.block != 0)
    return InvalidModel("rows {} and codes {} do not fit in blocks of {}", a.ToString(),
                        codes.ToString(), p.block);
  p.n = codes[0];
  p.k = codes[1];
  p.rows = a.elements() / p.k;
  for (size_t i : {2, 3}) {
    if (shapes[i] != Shape{p.n, p.blocks()})
      return InvalidModel("input {}: expected {} scales, got {}", i,
                          Shape{p.n, p.blocks()}.ToString(), shapes[i].ToString());
  }
  return p;
}

Status InferBlockMatMul(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, TypeBit(DType::kF32)));
  RETURN_IF_ERROR(CheckType(context, 1, TypeBit(DType::kU4) | TypeBit(DType::kU8)));
  RETURN_IF_ERROR(CheckTypes(context, 2, 4, TypeBit(DType::kF32) | TypeBit(DType::kF16)));
  const Shape shapes[] = {context.shape(0), context.shape(1), context.shape(2), context.shape(3)};
  ASSIGN_OR_RETURN(const BlockProduct p, ReadBlockProduct(context.node(), shapes));
  Dims dims = shapes[0].dims();
  dims.back() = p.n;
  context.SetOutput(0, DType::kF32, Shape(dims));
  return OkStatus();
}

int64_t BlockMatMulMacs(const ir::Node&, std::span<const Shape> inputs,
                        std::span<const Shape> outputs) {
  return outputs[0].elements() * inputs[1][1];
}

}  // namespace fettle::ops
