// MatMul and Gemm groups brought to one form: batches of C = alpha * A * B' + beta * D.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// Row-major operands. A is [.., m, k] ([k, m] with trans_a), B [.., k, n] ([n, k] with trans_b).
struct Product {
  ir::ValueId a = ir::kAbsent, b = ir::kAbsent;
  /// Gemm's C, and how far its elements lie apart along m and n (0: broadcast).
  ir::ValueId addend = ir::kAbsent;
  int64_t addend_row_stride = 0, addend_column_stride = 0;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;
  /// Matrices of A and B that each output matrix is made of. One batch where B is shared and the
  /// rows of A follow each other.
  struct Batch {
    int64_t a, b;
  };
  std::vector<Batch> batches;
  int64_t b_matrices = 1;
  bool constant_b = false;
  /// The addend is a constant row that belongs into the packed weights.
  bool constant_row = false;
};

/// Reads node 0 (MatMul or Gemm). Fails with kUnsupported and the reason.
Result<Product> ReadProduct(const ir::Graph& group);
/// The same of another node, whose B is packed like a constant where `constant_b`.
Result<Product> ReadProduct(const ir::Graph& group, const ir::Node& node, bool constant_b);
/// A MatMul, or a Gemm that only multiplies, of any type; operands may be constant.
Result<Product> ReadTypedProduct(const ir::Graph& group, const ir::Node& node);
/// A MatMulInteger, whatever its zero points.
Result<Product> ReadIntegerProduct(const ir::Graph& group, const ir::Node& node);
/// Node 0, where it multiplies rows that lie together by one constant matrix and adds no more than
/// a constant row.
Result<Product> ReadRowsByConstant(const ir::Graph& group);

/// One batch for each matrix of a product whose batches were taken together.
void SplitBatches(Product& product, int64_t matrices);

}  // namespace fettle::kernels
