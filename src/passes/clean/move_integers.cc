#include "passes/clean/move_integers.h"

#include <algorithm>

namespace fettle::passes {
namespace {

constexpr int64_t kMostAxes = 32;

/// Elements of an operand in their order, under `shape`; false: as many do not fit there.
bool Keep(const IntegerOperand& operand, Shape shape, ComputedIntegers& computed) {
  const int64_t count = operand.shape->elements();
  if (shape.elements() != count) return false;
  computed.elements.resize(count);
  for (int64_t i = 0; i < count; ++i) computed.elements[i] = operand[i];
  computed.shape = std::move(shape);
  return true;
}

/// Which of `rank` axes a list names; false: one is none, or named twice.
bool MarkAxes(const IntegerOperand& axes, int rank, std::vector<char>& marked) {
  if (axes.dtype != DType::kI64 || rank > kMostAxes) return false;
  marked.assign(rank, 0);
  for (int64_t i = 0; i < axes.shape->elements(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || marked[axis]) return false;
    marked[axis] = 1;
  }
  return true;
}

}  // namespace

/// Of a list of numbers.
bool GatherIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed) {
  if (operands.size() != 2) return false;
  const int64_t extent = operands[0].shape->elements();
  if (operands[0].shape->rank() != 1 || operands[1].dtype != DType::kI64) return false;
  if (const int64_t axis = node.attributes.Int("axis", 0); axis != 0 && axis != -1) return false;
  computed.shape = *operands[1].shape;
  const int64_t count = computed.shape.elements();
  computed.elements.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = operands[1][i];
    if (index < -extent || index >= extent) return false;
    computed.elements[i] = operands[0][index < 0 ? index + extent : index];
  }
  return true;
}

bool ConcatIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed) {
  const Shape& first = *operands[0].shape;
  const int rank = first.rank();
  int64_t axis = node.attributes.Int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  Dims dims(first.begin(), first.end());
  dims[axis] = 0;
  for (const IntegerOperand& operand : operands) {
    if (operand.shape->rank() != rank || operand.dtype != operands[0].dtype) return false;
    for (int i = 0; i < rank; ++i)
      if (i != axis && (*operand.shape)[i] != first[i]) return false;
    dims[axis] += (*operand.shape)[static_cast<int>(axis)];
  }
  computed.shape = Shape(std::move(dims));
  computed.elements.reserve(computed.shape.elements());
  const int64_t parts = first.Count(0, static_cast<int>(axis));
  for (int64_t part = 0; part < parts; ++part) {
    for (const IntegerOperand& operand : operands) {
      const int64_t count = operand.shape->elements() / parts;
      for (int64_t i = 0; i < count; ++i) computed.elements.push_back(operand[part * count + i]);
    }
  }
  return true;
}

bool ReshapeIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed) {
  if (operands.size() != 2 || operands[1].dtype != DType::kI64 || operands[1].shape->rank() != 1 ||
      node.attributes.Int("allowzero", 0) != 0)
    return false;
  const Shape& from = *operands[0].shape;
  if (operands[1].shape->elements() > kMostAxes) return false;
  Dims dims;
  int64_t known = 1, open = -1;
  for (int64_t i = 0; i < operands[1].shape->elements(); ++i) {
    const int64_t extent = operands[1][i];
    if (extent < -1 || extent > kMostIntegers || (extent == 0 && i >= from.rank()) ||
        (extent == -1 && open >= 0))
      return false;
    dims.push_back(extent == 0 ? from[static_cast<int>(i)] : extent);
    if (extent == -1)
      open = i;
    else if ((known *= dims.back()) > kMostIntegers)
      return false;
  }
  if (open >= 0 && (known == 0 || from.elements() % known != 0)) return false;
  if (open >= 0) dims[open] = from.elements() / known;
  return Keep(operands[0], Shape(std::move(dims)), computed);
}

bool UnsqueezeIntegers(const ir::Node&, IntegerOperands operands, ComputedIntegers& computed) {
  if (operands.size() != 2) return false;
  const Shape& from = *operands[0].shape;
  std::vector<char> added;
  const int rank =
      from.rank() + static_cast<int>(std::min(operands[1].shape->elements(), kMostAxes + 1));
  if (!MarkAxes(operands[1], rank, added)) return false;
  Dims dims;
  int at = 0;
  for (const char is_added : added) dims.push_back(is_added ? 1 : from[at++]);
  return Keep(operands[0], Shape(std::move(dims)), computed);
}

bool SqueezeIntegers(const ir::Node&, IntegerOperands operands, ComputedIntegers& computed) {
  const Shape& from = *operands[0].shape;
  std::vector<char> left_out;
  for (const int64_t extent : from) left_out.push_back(extent == 1);
  if (operands.size() > 1 && !MarkAxes(operands[1], from.rank(), left_out)) return false;
  Dims dims;
  for (int i = 0; i < from.rank(); ++i)
    if (!left_out[i]) dims.push_back(from[i]);
  return Keep(operands[0], Shape(std::move(dims)), computed);
}

/// Of a list of numbers, forwards.
bool SliceIntegers(const ir::Node&, IntegerOperands operands, ComputedIntegers& computed) {
  if (operands.size() < 3 || operands[0].shape->rank() != 1) return false;
  for (const IntegerOperand& operand : operands.subspan(1))
    if (operand.dtype != DType::kI64 || operand.shape->elements() != 1) return false;
  const int64_t extent = (*operands[0].shape)[0];
  if (operands.size() > 3 && operands[3][0] != 0 && operands[3][0] != -1) return false;
  const int64_t step = operands.size() > 4 ? operands[4][0] : 1;
  if (step < 1) return false;
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent);
  };
  const int64_t end = clamped(operands[2][0]);
  for (int64_t i = clamped(operands[1][0]); i < end; i += std::min(step, extent))
    computed.elements.push_back(operands[0][i]);
  computed.shape = {std::ssize(computed.elements)};
  return true;
}

/// One number as many, or another rank of as many.
bool ExpandIntegers(const ir::Node&, IntegerOperands operands, ComputedIntegers& computed) {
  if (operands.size() != 2 || operands[1].dtype != DType::kI64 || operands[1].shape->rank() != 1)
    return false;
  const Shape& from = *operands[0].shape;
  const int64_t asked = operands[1].shape->elements();
  if (asked > kMostAxes) return false;
  const int rank = std::max(from.rank(), static_cast<int>(asked));
  Dims dims;
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    const int own = i - (rank - from.rank()), other = i - (rank - static_cast<int>(asked));
    const int64_t a = own < 0 ? 1 : from[own], b = other < 0 ? 1 : operands[1][other];
    if (b < 0 || (a != b && a != 1 && b != 1)) return false;
    dims.push_back(a == 1 ? b : a);
    if (dims.back() > kMostIntegers || (count *= dims.back()) > kMostIntegers) return false;
  }
  if (from.elements() != 1) return Keep(operands[0], Shape(std::move(dims)), computed);
  computed.shape = Shape(std::move(dims));
  computed.elements.assign(count, operands[0][0]);
  return true;
}

}  // namespace fettle::passes
