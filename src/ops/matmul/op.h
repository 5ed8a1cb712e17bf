// Matrix products: operand shapes and attributes, as kernels read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// The sizes of MatMul: A [batch..., m, k] times B [batch..., k, n], after NumPy's rules. A vector
/// on the left has m = 1, one on the right n = 1; `output` lacks that axis then.
struct MatMulShape {
  Shape batch;  // what the leading axes of A and B broadcast to
  int64_t m = 1, n = 1, k = 0;
  bool vector_a = false, vector_b = false;
  Shape output;
};
Result<MatMulShape> ReadMatMul(const Shape& a, const Shape& b);

/// Y [m, n] = alpha * A' [m, k] * B' [k, n] + beta * C, where C broadcasts to [m, n].
struct GemmAttributes {
  double alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;
  int64_t m = 0, n = 0, k = 0;
};
Result<GemmAttributes> ReadGemm(const ir::Node& node, const Shape& a, const Shape& b);

/// An Einsum equation, resolved for its operands: each label of the equation, and each axis that an
/// ellipsis stands for, is a loop; output loops come first, in output order, then those summed.
struct Einsum {
  std::vector<int64_t> extents;                // per loop
  int output_rank = 0;                         // the first loops
  std::vector<std::vector<int>> operand_axes;  // per operand and axis: its loop
  Shape Output() const;
};
Result<Einsum> ReadEinsum(std::string_view equation, const std::vector<Shape>& operands);

}  // namespace fettle::ops
