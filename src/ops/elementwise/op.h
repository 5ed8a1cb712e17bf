// Element-wise operators: attributes, as kernels read them, and the functions that define them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {

/// The (at most two) numbers that an element-wise function depends on besides its operands: alpha
/// and beta of HardSigmoid, alpha and gamma of Selu, lambd and bias of Shrink, 1 for Gelu's tanh
/// form, fmod of Mod, 1 for BitShift to the left, detect_negative and detect_positive of IsInf.
struct ElementwiseParams {
  double a = 0;
  double b = 0;
};

/// One attribute that becomes a parameter. A text attribute reads as 1 where it equals `text`.
struct ElementwiseAttribute {
  std::string_view name;
  double fallback = 0;
  std::string_view text = "";
};

/// f(x; a, b), by the class of the element type. Integers compute in 64 bits and wrap when stored;
/// a null function means that the operator has no such types.
struct UnaryRow {
  std::string_view name;
  TypeSet types = 0;
  double (*on_double)(double, const ElementwiseParams&) = nullptr;
  int64_t (*on_int)(int64_t, const ElementwiseParams&) = nullptr;
  uint64_t (*on_uint)(uint64_t, const ElementwiseParams&) = nullptr;
  bool (*on_bool)(bool, const ElementwiseParams&) = nullptr;
  /// The result is boolean, whatever the operand's type.
  bool to_bool = false;
  ElementwiseAttribute attributes[2] = {};
  ir::Traits traits = {};
};

/// f(f(x0, x1), x2) ...: two operands, or any number.
struct FoldRow {
  std::string_view name;
  TypeSet types = 0;
  double (*on_double)(double, double, const ElementwiseParams&) = nullptr;
  int64_t (*on_int)(int64_t, int64_t, const ElementwiseParams&) = nullptr;
  uint64_t (*on_uint)(uint64_t, uint64_t, const ElementwiseParams&) = nullptr;
  bool (*on_bool)(bool, bool, const ElementwiseParams&) = nullptr;
  bool to_bool = false;
  bool variadic = false;
  /// The folded sum is divided by the number of operands.
  bool mean = false;
  ElementwiseAttribute attribute = {};
};

/// The tables, sorted by name (ref_unary.cc, ref_fold.cc).
std::span<const UnaryRow> UnaryRows();
std::span<const FoldRow> FoldRows();
/// The row of an operator, or null.
const UnaryRow* FindUnary(std::string_view op);
const FoldRow* FindFold(std::string_view op);

/// The row of that name in a table, or null.
template <typename Row>
const Row* FindRow(std::span<const Row> rows, std::string_view op) {
  const auto it = std::ranges::lower_bound(rows, op, {}, &Row::name);
  return it != rows.end() && it->name == op ? &*it : nullptr;
}

/// The function of a row for the class of T.
template <typename T, typename Row>
auto FunctionOf(const Row& row) {
  using W = Wide<T>;
  if constexpr (std::same_as<W, double>) return row.on_double;
  if constexpr (std::same_as<W, int64_t>) return row.on_int;
  if constexpr (std::same_as<W, uint64_t>) return row.on_uint;
  if constexpr (std::same_as<W, bool>) return row.on_bool;
}

/// The parameters of a node whose operator has a row in one of the tables; zeros for others.
ElementwiseParams ReadElementwise(const ir::Node& node);

/// What Cast does. Floats to integers truncate and saturate (NaN gives 0), but 4-bit integers keep
/// the low bits, as wider integers to narrower ones do; anything to bool compares with zero.
struct CastRule {
  DType to = DType::kUndefined;
  /// Out of range values of 8-bit floats become the largest finite value (else NaN or infinity).
  bool saturate = true;
};
/// Reads `to` and `saturate` of a Cast or CastLike node.
Result<CastRule> ReadCast(const ir::Node& node, DType like);

}  // namespace fettle::ops
