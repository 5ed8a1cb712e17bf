// Matrix products of large constants, computed once at load.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::passes {

/// The product of a MatMul of two constants of type f32, or of a Gemm of constants, that the scalar
/// reference would take too long for, as where a model projects a table of positions: of
/// [batch..., m, k] and [batch..., k, n], in sums of floats. Nothing for other nodes and types,
/// from 4 G multiply-adds on, where the product takes more than 16 times the bytes of its operands,
/// or where memory is short.
std::optional<Constant> FoldProduct(const ir::Node& node,
                                    const std::vector<std::shared_ptr<const Constant>>& inputs);

}  // namespace fettle::passes
