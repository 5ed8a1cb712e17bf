#include "tuner/search/expression.h"

#include <algorithm>
#include <cmath>

namespace fettle::tuner {
namespace {

/// What a part of an expression is worth; none where it has no value.
using Worth = std::variant<std::monostate, int64_t, double, std::string_view>;

bool Missing(const Worth& worth) { return worth.index() == 0; }
bool IsText(const Worth& worth) { return std::holds_alternative<std::string_view>(worth); }

double ToReal(const Worth& worth) {
  const int64_t* whole = std::get_if<int64_t>(&worth);
  return whole ? static_cast<double>(*whole) : std::get<double>(worth);
}

Worth ToWorth(const Value& value) {
  if (const int64_t* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const double* real = std::get_if<double>(&value)) return *real;
  return std::string_view(std::get<std::string>(value));
}

bool IsTrue(const Worth& worth) {
  if (Missing(worth)) return false;
  if (IsText(worth)) return !std::get<std::string_view>(worth).empty();
  return ToReal(worth) != 0;
}

Worth Finite(double value) { return std::isfinite(value) ? Worth(value) : Worth(); }

/// Towards minus infinity; `b` is not 0. int64's least value by -1 overflows and goes on as double.
Worth FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return a == INT64_MIN ? Worth(-static_cast<double>(a)) : Worth(-a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
int64_t Modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace

class ExpressionEvaluator {
 public:
  ExpressionEvaluator(const Expression& expression, std::span<const Value* const> values)
      : expression_(expression), values_(values) {}

  Worth Of(int index) const {
    const Expression::Node& node = expression_.nodes_[index];
    switch (node.op) {
      case Op::kLiteral: return ToWorth(expression_.literals_[node.index]);
      case Op::kName: return ToWorth(*values_[node.index]);
      case Op::kOr: {
        Worth left = Of(node.operands[0]);
        return IsTrue(left) ? left : Of(node.operands[1]);
      }
      case Op::kAnd: {
        Worth left = Of(node.operands[0]);
        return IsTrue(left) ? Of(node.operands[1]) : left;
      }
      case Op::kNot: {
        const Worth operand = Of(node.operands[0]);
        return Missing(operand) ? operand : Worth(int64_t{!IsTrue(operand)});
      }
      case Op::kNegate: return Arithmetic(Op::kSubtract, int64_t{0}, Of(node.operands[0]));
      case Op::kAbs: {
        const Worth operand = Of(node.operands[0]);
        if (Missing(operand) || IsText(operand)) return {};
        return ToReal(operand) < 0 ? Arithmetic(Op::kSubtract, int64_t{0}, operand) : operand;
      }
      case Op::kMin:
      case Op::kMax: return Extreme(node);
      case Op::kEqual:
      case Op::kUnequal:
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kGreater:
      case Op::kGreaterEqual: return Compared(node.op, Of(node.operands[0]), Of(node.operands[1]));
      default: return Arithmetic(node.op, Of(node.operands[0]), Of(node.operands[1]));
    }
  }

 private:
  using Op = Expression::Op;

  Worth Extreme(const Expression::Node& node) const {
    Worth best = Of(node.operands[0]);
    for (size_t i = 1; i < node.operands.size(); ++i) {
      const Worth other = Of(node.operands[i]);
      const Worth better = Compared(node.op == Op::kMin ? Op::kLess : Op::kGreater, other, best);
      if (Missing(better)) return {};
      if (IsTrue(better)) best = other;
    }
    return best;
  }

  template <typename T>
  static Worth Ordered(Op op, const T& a, const T& b) {
    switch (op) {
      case Op::kEqual: return int64_t{a == b};
      case Op::kUnequal: return int64_t{a != b};
      case Op::kLess: return int64_t{a < b};
      case Op::kLessEqual: return int64_t{a <= b};
      case Op::kGreater: return int64_t{a > b};
      default: return int64_t{a >= b};
    }
  }

  /// A text and a number are never equal and have no order.
  static Worth Compared(Op op, const Worth& a, const Worth& b) {
    if (Missing(a) || Missing(b)) return {};
    if (IsText(a) != IsText(b)) {
      if (op == Op::kEqual || op == Op::kUnequal) return int64_t{op == Op::kUnequal};
      return {};
    }
    if (IsText(a)) return Ordered(op, std::get<std::string_view>(a), std::get<std::string_view>(b));
    const int64_t *left = std::get_if<int64_t>(&a), *right = std::get_if<int64_t>(&b);
    if (left && right) return Ordered(op, *left, *right);
    return Ordered(op, ToReal(a), ToReal(b));
  }

  static Worth Arithmetic(Op op, const Worth& a, const Worth& b) {
    if (Missing(a) || Missing(b) || IsText(a) || IsText(b)) return {};
    const int64_t *left = std::get_if<int64_t>(&a), *right = std::get_if<int64_t>(&b);
    const bool by_zero = ToReal(b) == 0;
    if (by_zero && (op == Op::kDivide || op == Op::kFloorDivide || op == Op::kModulo)) return {};
    if (left && right) {
      const Worth exact = WholeArithmetic(op, *left, *right);
      if (!Missing(exact)) return exact;
    }
    return RealArithmetic(op, ToReal(a), ToReal(b));
  }
  /// None where the result is no int64.
  static Worth WholeArithmetic(Op op, int64_t a, int64_t b) {
    int64_t result = 0;
    switch (op) {
      case Op::kAdd: return __builtin_add_overflow(a, b, &result) ? Worth() : result;
      case Op::kSubtract: return __builtin_sub_overflow(a, b, &result) ? Worth() : result;
      case Op::kMultiply: return __builtin_mul_overflow(a, b, &result) ? Worth() : result;
      case Op::kFloorDivide: return FloorDivide(a, b);
      case Op::kModulo: return Modulo(a, b);
      case Op::kDivide: return Modulo(a, b) == 0 ? FloorDivide(a, b) : Worth();
      case Op::kPower: return WholePower(a, b);
      default: return {};
    }
  }
  static Worth WholePower(int64_t base, int64_t exponent) {
    if (exponent < 0) return {};
    int64_t result = 1;
    while (exponent > 0) {
      if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) return {};
      exponent /= 2;
      if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return {};
    }
    return result;
  }
  static Worth RealArithmetic(Op op, double a, double b) {
    switch (op) {
      case Op::kAdd: return Finite(a + b);
      case Op::kSubtract: return Finite(a - b);
      case Op::kMultiply: return Finite(a * b);
      case Op::kDivide: return Finite(a / b);
      case Op::kFloorDivide: return Finite(std::floor(a / b));
      case Op::kModulo: return Finite(a - b * std::floor(a / b));
      case Op::kPower: return Finite(std::pow(a, b));
      default: return {};
    }
  }

  const Expression& expression_;
  std::span<const Value* const> values_;
};

bool Expression::Holds(std::span<const Value* const> values) const {
  return IsTrue(ExpressionEvaluator(*this, values).Of(root_));
}

std::optional<int64_t> Expression::WholeNumber(std::span<const Value* const> values) const {
  const Worth worth = ExpressionEvaluator(*this, values).Of(root_);
  if (const int64_t* whole = std::get_if<int64_t>(&worth)) return *whole;
  const double* real = std::get_if<double>(&worth);
  if (real == nullptr || std::trunc(*real) != *real || std::abs(*real) > 0x1p62)
    return std::nullopt;
  return static_cast<int64_t>(*real);
}

}  // namespace fettle::tuner
