// Operands that are read as integers at shape time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace fettle::ops {

/// More values than any real shape, axes or sizes operand holds.
inline constexpr int64_t kMaxHostInts = 4096;

/// The integers of input `i` into `ints` (empty where it is absent). False where the value is not
/// known: then the shape is marked as dependent on it. Fails with kInvalidModel where the operand
/// is no small integer vector; `name` is its ONNX name.
inline Result<bool> ReadHostInts(InferContext& context, int i, std::string_view name,
                                 std::vector<int64_t>& ints) {
  ints.clear();
  if (!context.has_input(i)) return true;
  const Shape& shape = context.shape(i);
  if (!IsInteger(context.dtype(i)))
    return InvalidModel("input '{}': expected integers, got {}", name, DTypeName(context.dtype(i)));
  if (shape.rank() > 1 || shape.elements() > kMaxHostInts)
    return InvalidModel("input '{}': expected a short vector, got shape {}", name,
                        shape.ToString());
  if (context.value(i) == nullptr) {
    context.MarkDataDependent(i);
    return false;
  }
  ints = context.Ints(i);
  return true;
}

/// The same for a scalar or a vector of one element.
inline Result<bool> ReadHostInt(InferContext& context, int i, std::string_view name,
                                int64_t& value) {
  std::vector<int64_t> ints;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, i, name, ints));
  if (!known) return false;
  if (ints.size() != 1)
    return InvalidModel("input '{}': expected one value, got {}", name, ints.size());
  value = ints[0];
  return true;
}

/// `axis` in [0, rank), or kInvalidModel.
inline Result<int> ReadAxis(int64_t axis, int rank) {
  const std::optional<int> normal = NormaliseAxis(axis, rank);
  if (!normal) return InvalidModel("axis {} is out of range for rank {}", axis, rank);
  return *normal;
}

}  // namespace fettle::ops
