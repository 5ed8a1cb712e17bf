#include "passes/clean/fold_integers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/op.h"
#include "passes/clean/move_integers.h"
#include "tensor/tensor.h"

namespace fettle::passes {
namespace {

constexpr int kMostInputs = 16;

using Operand = IntegerOperand;
using Operands = IntegerOperands;
using Computed = ComputedIntegers;

int64_t Wrapped(uint64_t value) { return static_cast<int64_t>(value); }

/// The shape of what operands give element by element; nothing where one of them that has more than
/// one element is repeated.
std::optional<Shape> ShapeOf(Operands operands) {
  const auto most = std::ranges::max_element(operands, {}, [](const Operand& operand) {
    return std::pair(operand.shape->elements(), operand.shape->rank());
  });
  const Shape& shape = *most->shape;
  for (const Operand& operand : operands) {
    if (operand.shape->rank() > shape.rank()) return std::nullopt;
    if (operand.shape->elements() == 1) continue;
    const int lead = shape.rank() - operand.shape->rank();
    for (int i = 0; i < shape.rank(); ++i)
      if (shape[i] != (i < lead ? 1 : (*operand.shape)[i - lead])) return std::nullopt;
  }
  return shape;
}

template <typename F>
bool EachElement(Operands operands, Computed& computed, const F& f) {
  const std::optional<Shape> shape = ShapeOf(operands);
  if (!shape) return false;
  computed.shape = *shape;
  const int64_t count = shape->elements();
  computed.elements.resize(count);
  std::array<int64_t, 3> step{};
  for (size_t k = 0; k < operands.size(); ++k) step[k] = operands[k].shape->elements() != 1;
  for (int64_t i = 0; i < count; ++i)
    computed.elements[i] = f([&](size_t k) { return operands[k][i * step[k]]; });
  return true;
}

/// Of two operands of one type.
template <typename F>
bool Binary(const ir::Node&, Operands operands, Computed& computed) {
  if (operands.size() != 2 || operands[0].dtype != operands[1].dtype) return false;
  return EachElement(operands, computed,
                     [](const auto& at) { return static_cast<int64_t>(F()(at(0), at(1))); });
}

struct Plus {
  int64_t operator()(uint64_t a, uint64_t b) const { return Wrapped(a + b); }
};
struct Minus {
  int64_t operator()(uint64_t a, uint64_t b) const { return Wrapped(a - b); }
};
struct Times {
  int64_t operator()(uint64_t a, uint64_t b) const { return Wrapped(a * b); }
};

struct Greatest {
  int64_t operator()(int64_t a, int64_t b) const { return std::max(a, b); }
};
struct Least {
  int64_t operator()(int64_t a, int64_t b) const { return std::min(a, b); }
};

bool Cast(const ir::Node&, Operands operands, Computed& computed) {
  return EachElement(operands, computed, [](const auto& at) { return at(0); });
}

bool Where(const ir::Node&, Operands operands, Computed& computed) {
  return EachElement(operands, computed, [](const auto& at) { return at(0) != 0 ? at(1) : at(2); });
}

/// Forwards by a few, as positions are.
bool Range(const ir::Node&, Operands operands, Computed& computed) {
  if (operands.size() != 3) return false;
  const auto is_one = [](const Operand& operand) { return operand.shape->rank() == 0; };
  if (!std::ranges::all_of(operands, is_one)) return false;
  const int64_t start = operands[0][0], limit = operands[1][0], delta = operands[2][0];
  if (delta < 1 || delta > kMostIntegers ||
      std::max(std::abs(start), std::abs(limit)) > kMostIntegers)
    return false;
  for (int64_t value = start; value < limit; value += delta) computed.elements.push_back(value);
  computed.shape = {std::ssize(computed.elements)};
  return true;
}

using Compute = bool (*)(const ir::Node& node, Operands operands, Computed& computed);

/// Null: none.
Compute ComputeOf(const ir::Node& node) {
  static const std::array<std::pair<const ir::OpDesc*, Compute>, 22> rows = {{
      {&ops::Get("Gather"), GatherIntegers},
      {&ops::Get("Concat"), ConcatIntegers},
      {&ops::Get("Reshape"), ReshapeIntegers},
      {&ops::Get("Unsqueeze"), UnsqueezeIntegers},
      {&ops::Get("Squeeze"), SqueezeIntegers},
      {&ops::Get("Slice"), SliceIntegers},
      {&ops::Get("Expand"), ExpandIntegers},
      {&ops::Get("Equal"), Binary<std::equal_to<>>},
      {&ops::Get("Where"), Where},
      {&ops::Get("Add"), Binary<Plus>},
      {&ops::Get("Mul"), Binary<Times>},
      {&ops::Get("Sub"), Binary<Minus>},
      {&ops::Get("Cast"), Cast},
      {&ops::Get("Max"), Binary<Greatest>},
      {&ops::Get("Min"), Binary<Least>},
      {&ops::Get("Less"), Binary<std::less<>>},
      {&ops::Get("LessOrEqual"), Binary<std::less_equal<>>},
      {&ops::Get("Greater"), Binary<std::greater<>>},
      {&ops::Get("GreaterOrEqual"), Binary<std::greater_equal<>>},
      {&ops::Get("And"), Binary<std::bit_and<>>},
      {&ops::Get("Or"), Binary<std::bit_or<>>},
      {&ops::Get("Range"), Range},
  }};
  const auto row =
      std::ranges::find(rows, &ops::OperatorOf(node), [](const auto& one) { return one.first; });
  return row == rows.end() ? nullptr : row->second;
}

/// Nothing where it is absent, of another type, computed elements, or too many.
std::optional<Operand> OperandOf(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kAbsent) return std::nullopt;
  const Constant& constant = *graph.value(id).constant;
  const bool is_taken = constant.dtype() == DType::kI64 || constant.dtype() == DType::kBool;
  if (!is_taken || constant.source() != nullptr || constant.elements() > kMostIntegers)
    return std::nullopt;
  return Operand{&constant.shape(), constant.dtype(), constant.bytes().data(), constant.is_splat()};
}

template <typename T>
Constant ConstantOf(const Computed& computed, DType dtype) {
  auto owner = std::make_shared<std::vector<T>>(computed.elements.begin(), computed.elements.end());
  return Constant::FromBytes(dtype, computed.shape, std::as_bytes(std::span<const T>(*owner)),
                             owner);
}

bool IsSame(const Constant& constant, const Computed& computed) {
  if (constant.shape() != computed.shape || constant.source() != nullptr) return false;
  const Operand now{&constant.shape(), constant.dtype(), constant.bytes().data(),
                    constant.is_splat()};
  for (int64_t i = 0; i < std::ssize(computed.elements); ++i)
    if (now[i] != computed.elements[i]) return false;
  return true;
}

}  // namespace

bool FoldIntegers(ir::Graph& graph, const ir::Node& node) {
  const Compute compute = ComputeOf(node);
  if (compute == nullptr || node.outputs.size() != 1 || std::ssize(node.inputs) > kMostInputs)
    return false;
  ir::Value& output = graph.value(node.outputs[0]);
  const DType dtype = output.dtype;
  if (!output.is_constant() || (dtype != DType::kI64 && dtype != DType::kBool)) return false;
  std::array<Operand, kMostInputs> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::optional<Operand> operand = OperandOf(graph, node.inputs[i]);
    if (!operand) return false;
    operands[i] = *operand;
  }
  Computed computed;
  if (!compute(node, {operands.data(), node.inputs.size()}, computed)) return false;
  if (dtype == DType::kBool)
    for (int64_t& element : computed.elements) element = element != 0;
  if (IsSame(*output.constant, computed)) return true;
  output.shape = computed.shape;
  output.constant =
      std::make_shared<const Constant>(dtype == DType::kI64 ? ConstantOf<int64_t>(computed, dtype)
                                                            : ConstantOf<uint8_t>(computed, dtype));
  return true;
}

}  // namespace fettle::passes
