#include "kernels/match/product.h"

#include "ops/matmul/op.h"
#include "ops/op.h"
#include "tensor/shape.h"

namespace fettle::kernels {
namespace {

/// Which of its matrices an operand gives to each output matrix.
std::vector<int64_t> MatrixIndices(const Shape& operand, const Shape& batch) {
  const int lead = std::max(0, operand.rank() - 2);
  std::vector<int64_t> indices, at(batch.rank());
  for (int64_t i = 0; i < batch.elements(); ++i) {
    Unravel(i, batch, at);
    int64_t index = 0;
    for (int axis = 0; axis < lead; ++axis) {
      const int64_t extent = operand[axis];
      const int64_t position = at[batch.rank() - lead + axis];
      index = index * extent + (extent == 1 ? 0 : position);
    }
    indices.push_back(index);
  }
  return indices;
}

Status ReadMatMulNode(const ir::Graph& group, ir::ValueId anchor, Product& product) {
  const Shape& a = *group.value(product.a).shape;
  const Shape& b = *group.value(product.b).shape;
  ASSIGN_OR_RETURN(const ops::MatMulShape shape, ops::ReadMatMul(a, b));
  if ((shape.vector_a || shape.vector_b) && group.outputs[0] != anchor)
    return Unsupported("a vector operand with an epilogue");
  product.m = shape.m;
  product.n = shape.n;
  product.k = shape.k;
  product.b_matrices = b.rank() <= 2 ? 1 : b.Count(0, b.rank() - 2);
  const int64_t count = shape.batch.elements();
  const int64_t a_matrices = a.rank() <= 2 ? 1 : a.Count(0, a.rank() - 2);
  if (product.b_matrices == 1 && a_matrices == count) {
    product.m *= count;
    product.batches = {{0, 0}};
    return OkStatus();
  }
  const std::vector<int64_t> of_a = MatrixIndices(a, shape.batch);
  const std::vector<int64_t> of_b = MatrixIndices(b, shape.batch);
  for (size_t i = 0; i < of_a.size(); ++i) product.batches.push_back({of_a[i], of_b[i]});
  return OkStatus();
}

Status ReadGemmNode(const ir::Graph& group, const ir::Node& node, Product& product) {
  ASSIGN_OR_RETURN(
      const ops::GemmAttributes gemm,
      ops::ReadGemm(node, *group.value(product.a).shape, *group.value(product.b).shape));
  product.m = gemm.m;
  product.n = gemm.n;
  product.k = gemm.k;
  product.alpha = static_cast<float>(gemm.alpha);
  product.beta = static_cast<float>(gemm.beta);
  product.trans_a = gemm.trans_a;
  product.trans_b = gemm.trans_b;
  product.batches = {{0, 0}};
  product.addend = gemm.beta == 0 ? ir::kAbsent : node.input(2);
  if (product.addend == ir::kAbsent) return OkStatus();
  const Shape& c = *group.value(product.addend).shape;
  const int64_t columns = c.rank() == 0 ? 1 : c[c.rank() - 1];
  const int64_t rows = c.rank() < 2 ? 1 : c[0];
  product.addend_column_stride = columns == 1 ? 0 : 1;
  product.addend_row_stride = rows == 1 ? 0 : columns;
  product.constant_row = group.value(product.addend).is_constant() && rows == 1 &&
                         (columns == gemm.n || columns == 1) && product.constant_b;
  return OkStatus();
}

}  // namespace

Result<Product> ReadProduct(const ir::Graph& group) {
  if (group.nodes().empty()) return Unsupported("an empty group");
  const ir::Node& node = group.nodes()[0];
  const ir::ValueId b = node.input(1);
  return ReadProduct(group, node, b != ir::kAbsent && group.value(b).is_constant());
}

Result<Product> ReadProduct(const ir::Graph& group, const ir::Node& node, bool constant_b) {
  if (node.op != "MatMul"_op && node.op != "Gemm"_op)
    return Unsupported("computes products of matrices only");
  Product product;
  product.a = node.input(0);
  product.b = node.input(1);
  if (group.value(product.a).is_constant()) return Unsupported("the left operand is constant");
  if (!IsFloat(group.value(product.a).dtype)) return Unsupported("not a float type");
  product.constant_b = constant_b;
  RETURN_IF_ERROR(node.op == "MatMul"_op ? ReadMatMulNode(group, node.output(0), product)
                                         : ReadGemmNode(group, node, product));
  if (product.addend != ir::kAbsent && !product.constant_row &&
      group.value(product.addend).is_constant()) {
    return Unsupported("a constant addend that is not a row of the output");
  }
  return product;
}

Result<Product> ReadTypedProduct(const ir::Graph& group, const ir::Node& node) {
  if (node.op != "MatMul"_op && node.op != "Gemm"_op)
    return Unsupported("computes products of matrices only");
  Product product;
  product.a = node.input(0);
  product.b = node.input(1);
  RETURN_IF_ERROR(node.op == "MatMul"_op ? ReadMatMulNode(group, node.output(0), product)
                                         : ReadGemmNode(group, node, product));
  if (product.addend != ir::kAbsent || product.alpha != 1)
    return Unsupported("a factor or an addend");
  return product;
}

Result<Product> ReadIntegerProduct(const ir::Graph& group, const ir::Node& node) {
  if (node.op != "MatMulInteger"_op) return Unsupported("computes products of integers only");
  Product product;
  product.a = node.input(0);
  product.b = node.input(1);
  RETURN_IF_ERROR(ReadMatMulNode(group, node.output(0), product));
  return product;
}

Result<Product> ReadRowsByConstant(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const Product p, ReadProduct(group));
  if (!p.constant_b) return Unsupported("computed weights");
  if (p.trans_a) return Unsupported("rows of the left operand are strided");
  if (p.b_matrices != 1 || p.batches.size() != 1) return Unsupported("more than one right matrix");
  if (p.addend != ir::kAbsent && !p.constant_row)
    return Unsupported("the addend is not a constant row of the output");
  return p;
}

void SplitBatches(Product& product, int64_t matrices) {
  if (product.batches.size() != 1 || matrices <= 1) return;
  product.m /= matrices;
  product.batches.clear();
  for (int64_t i = 0; i < matrices; ++i) product.batches.push_back({i, 0});
}

}  // namespace fettle::kernels
