// A matrix product as a network of its own, so that it is planned, tuned and run like any other.
#pragma once

#include <memory>

#include "ir/graph.h"

namespace fettle::runtime {

/// C = alpha * op(A) * op(B) + beta * C, `batch` products at once. op(A) is [m, k], op(B) [k, n].
struct ProductProblem {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  DType a = DType::kF32, b = DType::kF32, c = DType::kF32;
  bool trans_a = false, trans_b = false;  // A is stored as [k, m], B as [n, k]
  /// All products read one matrix B.
  bool shared_b = false;
  double alpha = 1, beta = 0;

  /// Whether the sum is not what C becomes.
  bool is_scaled() const { return alpha != 1 || beta != 0; }
};

/// OK, or what is wrong: kInvalidArgument for negative sizes, kUnsupported for types that are not
/// f32, f16 or bf16 throughout, or bytes with 32-bit sums, alpha 1 and beta 0 or 1.
Status CheckProduct(const ProductProblem& problem);

/// Inputs "a" [m, k] and "b" [k, n] as stored, [batch, ...] where there are several and not one
/// that all share, with beta also "c0"; output "c". `constant_b`, row-major as stored, makes B a
/// constant, which kernels pack once. A product of floats without transposes and factors is a
/// MatMul; a single one with them a Gemm. Sizes are over 0; fails as CheckProduct does.
Result<ir::Graph> ProductGraph(const ProductProblem& problem,
                               const std::shared_ptr<const Constant>& constant_b = nullptr);

}  // namespace fettle::runtime
