#include "passes/clean/fold_product.h"

#include <algorithm>

#include "ops/matmul/op.h"
#include "ops/op.h"
#include "ops/walk.h"
#include "tensor/multiply_matrices.h"

namespace fettle::passes {
namespace {

constexpr int64_t kMostFastMacs = 4'000'000'000;

/// Strides of `tensor` over the matrices of the product, in elements.
Dims MatrixStrides(const Tensor& tensor, const Shape& batch) {
  HostView matrices = tensor.view();
  matrices.shape = Shape(Dims(tensor.shape().begin(), tensor.shape().end() - 2));
  matrices.strides.resize(matrices.shape.rank());
  return ops::BroadcastStrides(matrices, batch);
}

using Inputs = std::vector<std::shared_ptr<const Constant>>;

/// Whether the product is worth its bytes and its arithmetic.
bool IsWorth(const Inputs& inputs, int64_t elements, int64_t depth) {
  constexpr int64_t kLargestGrowth = 16;
  return elements > 0 &&
         elements <= kLargestGrowth * (inputs[0]->elements() + inputs[1]->elements()) &&
         elements <= kMostFastMacs / std::max<int64_t>(depth, 1);
}

std::optional<Constant> FoldMatMul(const Inputs& inputs) {
  const Result<ops::MatMulShape> shape = ops::ReadMatMul(inputs[0]->shape(), inputs[1]->shape());
  if (!shape.ok()) return std::nullopt;
  const auto& [batch, m, n, k, is_vector_a, is_vector_b, output] = *shape;
  if (!IsWorth(inputs, output.elements(), k)) return std::nullopt;
  const Result<Tensor> a = inputs[0]->ToTensor(), b = inputs[1]->ToTensor();
  const Result<Tensor> c = Tensor::Create(DType::kF32, output);
  if (!a.ok() || !b.ok() || !c.ok()) return std::nullopt;
  ops::Walker walk(batch, {MatrixStrides(*a, batch), MatrixStrides(*b, batch)}, 0);
  for (int64_t i = 0; i < batch.elements(); ++i, walk.Next()) {
    MultiplyMatrices(m, n, k, a->view().as<float>() + walk[0], b->view().as<float>() + walk[1],
                     c->view().as<float>() + i * m * n);
  }
  return Constant::FromTensor(*c);
}

/// [rows, columns], or the transpose of such.
Result<Tensor> Dense(const Constant& matrix, bool transposed) {
  if (!transposed) return matrix.ToTensor();
  ASSIGN_OR_RETURN(const Tensor from, matrix.ToTensor());
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  ASSIGN_OR_RETURN(Tensor to, Tensor::Create(DType::kF32, Shape{columns, rows}));
  const auto* x = from.view().as<float>();
  auto* y = to.view().as<float>();
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) y[c * rows + r] = x[r * columns + c];
  }
  return to;
}

std::optional<Constant> FoldGemm(const ir::Node& node, const Inputs& inputs) {
  const auto gemm = ops::ReadGemm(node, inputs[0]->shape(), inputs[1]->shape());
  if (!gemm.ok() || !IsWorth(inputs, gemm->m * gemm->n, gemm->k)) return std::nullopt;
  const Shape shape = {gemm->m, gemm->n};
  const Result<Tensor> a = Dense(*inputs[0], gemm->trans_a), b = Dense(*inputs[1], gemm->trans_b);
  const Result<Tensor> y = Tensor::Create(DType::kF32, shape);
  if (!a.ok() || !b.ok() || !y.ok()) return std::nullopt;
  auto* to = y->view().as<float>();
  MultiplyMatrices(gemm->m, gemm->n, gemm->k, a->view().as<float>(), b->view().as<float>(), to);
  const auto alpha = static_cast<float>(gemm->alpha), beta = static_cast<float>(gemm->beta);
  for (int64_t i = 0; i < shape.elements(); ++i) to[i] *= alpha;
  if (inputs.size() == 2 || inputs[2] == nullptr) return Constant::FromTensor(*y);
  const Result<Tensor> c = inputs[2]->ToTensor();
  if (!c.ok()) return std::nullopt;
  ops::Walker walk(shape, {ops::BroadcastStrides(c->view(), shape)}, 0);
  for (int64_t i = 0; i < shape.elements(); ++i, walk.Next())
    to[i] += beta * c->view().as<float>()[walk[0]];
  return Constant::FromTensor(*y);
}

}  // namespace

std::optional<Constant> FoldProduct(const ir::Node& node, const Inputs& inputs) {
  const bool is_gemm = node.op == "Gemm"_op;
  if ((!is_gemm && node.op != "MatMul"_op) || inputs.size() < 2) return std::nullopt;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && i == 2) continue;
    if (inputs[i] == nullptr || inputs[i]->dtype() != DType::kF32 ||
        (i < 2 && inputs[i]->shape().rank() < 2))
      return std::nullopt;
  }
  return is_gemm ? FoldGemm(node, inputs) : FoldMatMul(inputs);
}

}  // namespace fettle::passes
