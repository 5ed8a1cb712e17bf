// Constraints as text: "MWG % (MDIMC * VWM) == 0 and SA + SB < 2".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "tuner/search/value.h"

namespace fettle::tuner {

/// A parsed condition over named parameters; a value, safe to share between threads.
///
/// The grammar is that of the conditions in T1 files, a part of Python's expressions: or || · and
/// && · not ! · comparisons (chains too: 1 <= A < B) and `in [...]` · + - · * / // % · unary - + ·
/// ** · min(), max(), abs() · names, numbers, 'texts', True, False, parentheses. `/` divides
/// exactly, `//` and `%` round towards minus infinity, integers that overflow go on as floating
/// point. Nothing else can be named or called, and texts over kMaxLength or nested deeper than
/// kMaxDepth are refused, so that hostile input costs nothing but its error.
class Expression {
 public:
  static constexpr size_t kMaxLength = 4096;
  static constexpr int kMaxDepth = 64;

  /// Fails with kInvalidArgument: what was expected where, or which name is no parameter.
  static Result<Expression> Parse(std::string_view text, std::span<const std::string> names);

  /// True where the condition holds for the values of the names given to Parse, in their order.
  /// What has no value (division by zero, a text in arithmetic) does not hold.
  bool Holds(std::span<const Value* const> values) const;

  /// What it is worth as a whole number; nothing where it has no such value.
  std::optional<int64_t> WholeNumber(std::span<const Value* const> values) const;

  const std::string& text() const { return text_; }
  /// Which of the names occur, ascending.
  const std::vector<int>& uses() const { return uses_; }

 private:
  friend class ExpressionParser;
  friend class ExpressionEvaluator;

  enum class Op : unsigned char {
    kLiteral,
    kName,
    kOr,
    kAnd,
    kNot,
    kNegate,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kModulo,
    kPower,
    kEqual,
    kUnequal,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kMin,
    kMax,
    kAbs,
  };
  /// `operands` index nodes_; `index` is that of a literal or a name.
  struct Node {
    Op op = Op::kLiteral;
    int index = 0;
    std::vector<int> operands;
  };

  std::string text_;
  std::vector<Node> nodes_;
  std::vector<Value> literals_;
  std::vector<int> uses_;
  int root_ = 0;
};

}  // namespace fettle::tuner
