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

}  // namespace

std::optional<Constant> FoldProduct(const ir::Node& node,
                                    const std::vector<std::shared_ptr<const Constant>>& inputs) {
  if (node.op != "MatMul"_op || inputs.size() != 2) return std::nullopt;
  for (const auto& input : inputs) {
    if (input == nullptr || input->dtype() != DType::kF32 || input->shape().rank() < 2)
      return std::nullopt;
  }
  const Result<ops::MatMulShape> shape = ops::ReadMatMul(inputs[0]->shape(), inputs[1]->shape());
  if (!shape.ok()) return std::nullopt;
  const auto& [batch, m, n, k, is_vector_a, is_vector_b, output] = *shape;
  const int64_t elements = output.elements();
  if (elements == 0 || elements > inputs[0]->elements() + inputs[1]->elements() ||
      elements > kMostFastMacs / std::max<int64_t>(k, 1))
    return std::nullopt;
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

}  // namespace fettle::passes
