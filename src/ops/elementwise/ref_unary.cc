// The functions of one operand, and the oracle that applies them.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include "ops/elementwise/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

using P = const ElementwiseParams&;
using Attribute = ElementwiseAttribute;

constexpr UnaryRow Float(std::string_view name, double (*f)(double, P), Attribute first = {},
                         Attribute second = {}, ir::Traits traits = {}) {
  return {.name = name,
          .types = kFloatTypes,
          .on_double = f,
          .attributes = {first, second},
          .traits = traits};
}

constexpr UnaryRow FloatTest(std::string_view name, double (*f)(double, P), Attribute first = {},
                             Attribute second = {}) {
  return {.name = name,
          .types = kFloatTypes | kFloat8Types,
          .on_double = f,
          .to_bool = true,
          .attributes = {first, second}};
}

/// A row from a generic lambda, used for doubles and both integers.
template <typename F>
constexpr UnaryRow Number(std::string_view name, TypeSet types, F, Attribute first = {},
                          Attribute second = {}) {
  return {.name = name,
          .types = types,
          .on_double = [](double x, P p) { return static_cast<double>(F{}(x, p)); },
          .on_int = [](int64_t x, P p) { return static_cast<int64_t>(F{}(x, p)); },
          .on_uint = [](uint64_t x, P p) { return static_cast<uint64_t>(F{}(x, p)); },
          .attributes = {first, second}};
}

/// Negation that wraps for integers.
template <typename T>
T Negate(T x) {
  if constexpr (std::same_as<T, double>) return -x;
  return static_cast<T>(0 - static_cast<uint64_t>(x));
}

template <typename T>
T Sign(T x) {
  if (x != x) return x;
  return static_cast<T>((x > T{0}) - (x < T{0}));
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0); }

double Gelu(double x, P p) {
  if (p.a == 0) return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
  const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

template <typename T>
T Shrink(T x, P p) {
  const auto value = static_cast<double>(x);
  double shrunk = 0;
  if (value < -p.a)  // the first that holds: of a negative lambd both may
    shrunk = value + p.b;
  else if (value > p.a)
    shrunk = value - p.b;
  if constexpr (std::same_as<T, double>) return std::isnan(x) ? x : shrunk;
  // What lies beyond 64 bits becomes the nearest of them, and narrower types take its low bits.
  using Limits = std::numeric_limits<T>;
  if (!(shrunk < (std::is_signed_v<T> ? 0x1p63 : 0x1p64))) return Limits::max();
  return static_cast<T>(std::max(shrunk, std::is_signed_v<T> ? -0x1p63 : 0.0));
}

constexpr TypeSet kSignedNumbers = kFloatTypes | kSignedTypes;

constexpr UnaryRow kUnaries[] = {
    // keep-sorted start
    Number("Abs", kNumericTypes, [](auto x, P) { return (x < 0 ? Negate(x) : x) + 0; }),
    Float("Acos", [](double x, P) { return std::acos(x); }),
    Float("Acosh", [](double x, P) { return std::acosh(x); }),
    Float("Asin", [](double x, P) { return std::asin(x); }),
    Float("Asinh", [](double x, P) { return std::asinh(x); }),
    Float("Atan", [](double x, P) { return std::atan(x); }),
    Float("Atanh", [](double x, P) { return std::atanh(x); }),
    {.name = "BitwiseNot",
     .types = kIntegerTypes,
     .on_int = [](int64_t x, P) { return ~x; },
     .on_uint = [](uint64_t x, P) { return ~x; }},
    Float("Ceil", [](double x, P) { return std::ceil(x); }),
    Float("Celu", [](double x, P p) { return x > 0 ? x : p.a * std::expm1(x / p.a); },
          {"alpha", 1}),
    Float("Cos", [](double x, P) { return std::cos(x); }),
    Float("Cosh", [](double x, P) { return std::cosh(x); }),
    Float("Elu", [](double x, P p) { return x > 0 ? x : p.a * std::expm1(x); }, {"alpha", 1}),
    Float("Erf", [](double x, P) { return std::erf(x); }, {}, {}, {Trait::kBounded}),
    Float("Exp", [](double x, P) { return std::exp(x); }),
    Float("Floor", [](double x, P) { return std::floor(x); }),
    Float("Gelu", Gelu, {"approximate", 0, "tanh"}),
    Float("HardSigmoid", [](double x, P p) { return std::clamp(p.a * x + p.b, 0.0, 1.0); },
          {"alpha", 0.2}, {"beta", 0.5}, {Trait::kBounded}),
    Float("HardSwish", [](double x, P) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }),
    FloatTest("IsInf",
              [](double x, P p) -> double { return std::isinf(x) && (x < 0 ? p.a : p.b) != 0; },
              {"detect_negative", 1}, {"detect_positive", 1}),
    FloatTest("IsNaN", [](double x, P) -> double { return std::isnan(x); }),
    Float("LeakyRelu", [](double x, P p) { return x < 0 ? p.a * x : x; }, {"alpha", 0.01}),
    Float("Log", [](double x, P) { return std::log(x); }),
    Float("Mish", [](double x, P) { return x * std::tanh(Softplus(x)); }),
    Number("Neg", kSignedNumbers, [](auto x, P) { return Negate(x); }),
    {.name = "Not", .types = kBoolType, .on_bool = [](bool x, P) { return !x; }},
    Float("Reciprocal", [](double x, P) { return 1 / x; }),
    Number("Relu", kSignedNumbers, [](auto x, P) { return x < 0 ? decltype(x){0} : x; }),
    // The default rounding mode: halves go to the even neighbour.
    Float("Round", [](double x, P) { return std::nearbyint(x); }),
    Float("Selu", [](double x, P p) { return p.b * (x > 0 ? x : p.a * std::expm1(x)); },
          {"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}),
    Number("Shrink", kNumericTypes, [](auto x, P p) { return Shrink(x, p); }, {"lambd", 0.5},
           {"bias", 0}),
    Float("Sigmoid", [](double x, P) { return Sigmoid(x); }, {}, {}, {Trait::kBounded}),
    Number("Sign", kNumericTypes, [](auto x, P) { return Sign(x); }),
    Float("Sin", [](double x, P) { return std::sin(x); }),
    Float("Sinh", [](double x, P) { return std::sinh(x); }),
    Float("Softplus", [](double x, P) { return Softplus(x); }),
    Float("Softsign", [](double x, P) { return x / (1 + std::fabs(x)); }, {}, {},
          {Trait::kBounded}),
    Float("Sqrt", [](double x, P) { return std::sqrt(x); }),
    Float("Swish", [](double x, P p) { return x * Sigmoid(p.a * x); }, {"alpha", 1}),
    Float("Tan", [](double x, P) { return std::tan(x); }),
    Float("Tanh", [](double x, P) { return std::tanh(x); }, {}, {}, {Trait::kBounded}),
    Float("ThresholdedRelu", [](double x, P p) { return x > p.a ? x : 0.0; }, {"alpha", 1}),
    // keep-sorted end
};

}  // namespace

std::span<const UnaryRow> UnaryRows() { return kUnaries; }

const UnaryRow* FindUnary(std::string_view op) { return FindRow(UnaryRows(), op); }

Status UnaryReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const UnaryRow& row = *FindUnary(context.node.op);
  const ElementwiseParams params = ReadElementwise(context.node);
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  DispatchDType(x.dtype, [&]<typename T>() {
    const auto f = FunctionOf<T>(row);
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      const auto value = f(Widen(x.as<T>()[walk[0]]), params);
      if (row.to_bool) {
        y.as<bool>()[walk[1]] = value != 0;
      } else {
        y.as<T>()[walk[1]] = Narrow<T>(value);
      }
    }
  });
  return OkStatus();
}

}  // namespace fettle::ops
