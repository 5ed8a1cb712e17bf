#include "passes/edit/constants.h"

#include <algorithm>
#include <cmath>

namespace fettle::passes {
namespace {

/// Longer constants than this are data, never the operand of a pattern.
constexpr int64_t kLongestOperand = 4096;

}  // namespace

const Constant* ConstantOf(const ir::Graph& graph, ir::ValueId id) {
  return id == ir::kAbsent ? nullptr : graph.value(id).constant.get();
}

std::optional<std::vector<int64_t>> IntsOf(const ir::Graph& graph, ir::ValueId id) {
  const Constant* constant = ConstantOf(graph, id);
  if (constant == nullptr || !IsInteger(constant->dtype()) ||
      constant->elements() > kLongestOperand) {
    return std::nullopt;
  }
  std::vector<int64_t> ints;
  for (int64_t i = 0; i < constant->elements(); ++i) ints.push_back(constant->GetInt(i));
  return ints;
}

std::optional<double> UniformValue(const Constant& constant) {
  const int64_t elements = constant.elements();
  if (elements == 0 || !IsStored(constant.dtype())) return std::nullopt;
  const double first = constant.GetDouble(0);
  if (constant.is_splat()) return first;
  if (elements > kLongestOperand) return std::nullopt;
  for (int64_t i = 1; i < elements; ++i) {
    if (constant.GetDouble(i) != first) return std::nullopt;
  }
  return first;
}

bool KeepsShape(const ir::Graph& graph, const Constant& constant, ir::ValueId x) {
  const Shape& shape = constant.shape();
  if (shape.rank() == 0) return true;
  const std::optional<Shape>& target = graph.value(x).shape;
  if (!target || shape.rank() > target->rank()) return false;
  const int offset = target->rank() - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 && shape[axis] != (*target)[axis + offset]) return false;
  }
  return true;
}

std::optional<double> ScalarFor(const ir::Graph& graph, ir::ValueId id, ir::ValueId x) {
  const Constant* constant = ConstantOf(graph, id);
  if (constant == nullptr || !KeepsShape(graph, *constant, x)) return std::nullopt;
  return UniformValue(*constant);
}

double WrittenPrecision(DType dtype) {
  if (dtype == DType::kF16) return 1e-3;
  if (dtype == DType::kBF16) return 8e-3;
  return 1e-6;
}

bool IsNear(double value, double target, double precision) {
  return std::fabs(value - target) <= precision * std::fabs(target);
}

Constant IntsConstant(const std::vector<int64_t>& values) {
  auto owner = std::make_shared<const std::vector<int64_t>>(values);
  return Constant::FromBytes(DType::kI64, Shape{static_cast<int64_t>(values.size())},
                             std::as_bytes(std::span<const int64_t>(*owner)), owner);
}

Result<Constant> ConstantFrom(DType dtype, const Shape& shape, const std::vector<double>& values) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  const HostView view = tensor.view();
  for (size_t i = 0; i < values.size(); ++i) view.SetDouble(static_cast<int64_t>(i), values[i]);
  return Constant::FromTensor(tensor);
}

std::vector<double> DoublesOf(const Constant& constant) {
  std::vector<double> values;
  values.reserve(constant.elements());
  for (int64_t i = 0; i < constant.elements(); ++i) values.push_back(constant.GetDouble(i));
  return values;
}

}  // namespace fettle::passes
