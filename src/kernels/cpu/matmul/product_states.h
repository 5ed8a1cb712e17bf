// What cpu.matmul.gemm and cpu.matmul.gemm.nwc read of a group, and the states of its operands.
#pragma once

#include <vector>

#include "kernels/kernel.h"
#include "kernels/match/product.h"

namespace fettle::kernels {

Result<Product> ReadRowMajorProduct(const ir::Graph& group, const Device& device);
/// Row-major operands; A and B as planned tensors, and as the caller's where nothing else reads
/// them.
Result<std::vector<StateAssignment>> RowMajorProductStates(const ir::Graph& group,
                                                           const Product& product,
                                                           const Device& device);

/// A list of matrices, whose rows may lie innermost.
Result<Product> ReadMatrixList(const ir::Graph& group, const Device& device);
/// A, a computed B, the product or several of them with the rows of each matrix innermost.
Result<std::vector<StateAssignment>> MatrixListStates(const ir::Graph& group,
                                                      const Product& product, const Device& device);

/// The product of a problem, in whose states A and B may be transposed; and whether the result is.
struct ProductForm {
  Product product;
  bool transposed_c = false;
};
ProductForm FormIn(const Problem& problem, const Product& product);

/// Whether B is read in its own order: where packing it costs more than it spares, because one tile
/// of rows meets it, or few tiles while it stays in the second-level cache
/// (docs/laboratory/cpu.md).
bool ReadsAsItIs(const Product& product);

/// Whether the last columns of such a B are read as part of a vector that ends behind them.
bool EndsWithinVector(const Product& product);

/// Makes a product of one list of rows by one constant matrix that of the rows of `a`; says whether
/// it is one.
bool TakeRows(Product& product, const Shape& a);
/// Makes a product of two lists of as many matrices, `lists` of A, each of which meets the one
/// beside it, that of the operands of `problem`; says whether it is one.
bool TakeMatrices(Product& product, int64_t lists, const Problem& problem);

}  // namespace fettle::kernels
