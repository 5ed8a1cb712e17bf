// Matrix products of large constants, computed once at load.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::passes {

/// The product of a MatMul of two f32 constants, or of a Gemm of constants, for which the scalar
/// reference would take too long, such as a projected table of positions: [batch..., m, k] by
/// [batch..., k, n], summed in floats. Nothing for other nodes and types, from 4 G multiply-adds
/// on, where the product takes more than 16 times the bytes of its operands, or where memory is
/// short.
std::optional<Constant> FoldProduct(const ir::Node& node,
                                    const std::vector<std::shared_ptr<const Constant>>& inputs);

}  // namespace fettle::passes
