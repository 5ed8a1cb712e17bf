// Which states of a product's operands are the matrices that an algorithm takes.
#pragma once

#include <vector>

#include "kernels/match/product.h"
#include "kernels/opencl/gemm/algorithm.h"

namespace fettle::kernels {

/// The product that node 0 of a group is. Fails with kUnsupported and the reason.
Result<GemmShape> ReadShape(const ir::Graph& group, const Product& product, DType storage);

/// All operands row-major, floats stored as `storage`.
StateAssignment RowsOf(const ir::Graph& group, DType storage);

/// The same, but the product's operands so that its matrices are in `forms`. Fails with
/// kUnsupported where no state is that.
Result<StateAssignment> StatesIn(const GemmForms& forms, const ir::Graph& group,
                                 const Product& product, DType storage, const OpenClFacts& facts);

/// The states in which `algorithm`, which applies, computes a group and what follows its product;
/// or why it cannot.
Result<std::vector<StateAssignment>> StatesFor(const GemmAlgorithm& algorithm,
                                               const ir::Graph& group, const Product& product,
                                               const Device& device);

/// Those of the algorithm's forms that the states of a problem are.
GemmForms FormsOf(const GemmAlgorithm& algorithm, const Problem& problem, const Product& product,
                  const OpenClFacts& facts);

}  // namespace fettle::kernels
