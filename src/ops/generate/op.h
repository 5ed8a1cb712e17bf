// Generated tensors: parameters, as oracle and kernels read them.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::ops {

class ImportContext;

/// The one element that ConstantOfShape repeats: attribute 'value', or 0 as f32.
Constant ReadFillValue(const ir::Node& node);

/// How many elements Range has; nothing for a step of 0 (or NaN) and for more than kMaxElements.
std::optional<int64_t> CountRange(int64_t start, int64_t limit, int64_t delta);
std::optional<int64_t> CountRange(double start, double limit, double delta);

/// Element `i` of RandomUniform, in [0, 1): one step of SplitMix64 from a state of its own.
/// Integers alone: the same everywhere.
inline float UniformAt(uint64_t seed, uint64_t i) {
  uint64_t bits = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return static_cast<float>(static_cast<uint32_t>((bits ^ (bits >> 31)) >> 40)) * 0x1p-24f;
}

/// Adds RandomUniform of a shape (1-D i64) for the node that is imported; another `stream` has
/// other numbers.
ir::ValueId EmitUniform(ImportContext& context, ir::ValueId shape, int stream);

}  // namespace fettle::ops
