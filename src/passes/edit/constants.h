// Reading constants in patterns, and making new ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::passes {

/// The constant behind `id`; null for ir::kAbsent and values that are not constant.
const Constant* ConstantOf(const ir::Graph& graph, ir::ValueId id);
/// The constant as integers; nothing where it has no integer type.
std::optional<std::vector<int64_t>> IntsOf(const ir::Graph& graph, ir::ValueId id);
/// The one value that all elements of a constant have; nothing where they differ.
std::optional<double> UniformValue(const Constant& constant);
/// Whether broadcasting `constant` with `x` certainly gives x's shape. Where x's shape is unknown,
/// that is true for scalars alone.
bool KeepsShape(const ir::Graph& graph, const Constant& constant, ir::ValueId x);
/// UniformValue of the constant `id` where KeepsShape(x) holds.
std::optional<double> ScalarFor(const ir::Graph& graph, ir::ValueId id, ir::ValueId x);
/// Relative precision with which numbers of a type are written down in a model.
double WrittenPrecision(DType dtype);
bool IsNear(double value, double target, double precision);

/// A rank-1 i64 constant.
Constant IntsConstant(const std::vector<int64_t>& values);
/// Values converted to `dtype`. Fails with kOutOfMemory.
Result<Constant> ConstantFrom(DType dtype, const Shape& shape, const std::vector<double>& values);
/// All elements, as doubles.
std::vector<double> DoublesOf(const Constant& constant);

}  // namespace fettle::passes
