// Functions of double, which exporters' tables of positions and spectra are made of, and networks
// of other frameworks: the most used by vectors, others by the C library, one by one.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise/typed_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/double_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
/// Elements that are checked at once.
constexpr int64_t kBlock = 32;

// Functions of elements from kLeast up to kMost, where Highway bounds their error: exponentials and
// hyperbolic tangents by 1 and 4 units in the last place, logarithms by 4.
struct ExpOf {
  static constexpr double kLeast = -700, kMost = 700;
  static HWY_INLINE V Vector(D d, V x) { return hn::Exp(d, x); }
  static double Scalar(double x) { return std::exp(x); }
};
struct LogOf {
  static constexpr double kLeast = 1e-300, kMost = 1e300;
  static HWY_INLINE V Vector(D d, V x) { return hn::Log(d, x); }
  static double Scalar(double x) { return std::log(x); }
};
struct SigmoidOf {
  static constexpr double kLeast = -700, kMost = 700;
  static HWY_INLINE V Vector(D d, V x) {
    const V one = hn::Set(d, 1.0);
    return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
  }
  static double Scalar(double x) { return 1 / (1 + std::exp(-x)); }
};
struct TanhOf {
  static constexpr double kLeast = -300, kMost = 300;
  static HWY_INLINE V Vector(D d, V x) { return hn::Tanh(d, x); }
  static double Scalar(double x) { return std::tanh(x); }
};

template <typename F>
void Apply(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned) {
  const D d;
  const auto* x = reinterpret_cast<const double*>(in[0]);
  auto* y = reinterpret_cast<double*>(out);
  constexpr int64_t kLanes = HWY_LANES(double);
  const V least = hn::Set(d, F::kLeast), most = hn::Set(d, F::kMost);
  const auto is_bounded = [&](const double* at) HWY_ATTR {
    auto inside = hn::Eq(least, least);
    for (int64_t v = 0; v < kBlock; v += kLanes) {
      const V one = hn::LoadU(d, at + v);
      inside = hn::And(inside, hn::And(hn::Ge(one, least), hn::Le(one, most)));
    }
    return hn::AllTrue(d, inside);
  };
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    if (is_bounded(x + i)) {
      for (int64_t v = i; v < i + kBlock; v += kLanes)
        hn::StoreU(F::Vector(d, hn::LoadU(d, x + v)), d, y + v);
    } else {
      for (int64_t k = i; k < i + kBlock; ++k) y[k] = F::Scalar(x[k]);
    }
  }
  for (; i < n; ++i) y[i] = F::Scalar(x[i]);
}

}  // namespace

TypedRow FindVectors(std::string_view op) {
  if (op == "Exp") return Apply<ExpOf>;
  if (op == "Log") return Apply<LogOf>;
  if (op == "Sigmoid") return Apply<SigmoidOf>;
  return op == "Tanh" ? Apply<TanhOf> : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels::elementwise {
namespace {

HWY_EXPORT(FindVectors);

struct Row {
  std::string_view op;
  TypedRow function;
};

template <typename F>
constexpr TypedRow Of(F) {
  return [](const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned) {
    const auto* x = reinterpret_cast<const double*>(in[0]);
    auto* y = reinterpret_cast<double*>(out);
    for (int64_t i = 0; i < n; ++i) y[i] = F{}(x[i]);
  };
}

void Power(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned) {
  const auto *a = reinterpret_cast<const double*>(in[0]),
             *b = reinterpret_cast<const double*>(in[1]);
  auto* y = reinterpret_cast<double*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = std::pow(a[i], b[i]);
}

constexpr Row kRows[] = {
    // keep-sorted start
    {"Acos", Of([](double x) { return std::acos(x); })},
    {"Asin", Of([](double x) { return std::asin(x); })},
    {"Atan", Of([](double x) { return std::atan(x); })},
    {"Ceil", Of([](double x) { return std::ceil(x); })},
    {"Cos", Of([](double x) { return std::cos(x); })},
    {"Cosh", Of([](double x) { return std::cosh(x); })},
    {"Erf", Of([](double x) { return std::erf(x); })},
    {"Floor", Of([](double x) { return std::floor(x); })},
    {"Pow", Power},
    {"Reciprocal", Of([](double x) { return 1 / x; })},
    {"Round", Of([](double x) { return std::nearbyint(x); })},
    {"Sin", Of([](double x) { return std::sin(x); })},
    {"Sinh", Of([](double x) { return std::sinh(x); })},
    {"Sqrt", Of([](double x) { return std::sqrt(x); })},
    {"Tan", Of([](double x) { return std::tan(x); })},
    // keep-sorted end
};

}  // namespace

TypedRow FindDoubleRow(std::string_view op) {
  if (const TypedRow row = HWY_DYNAMIC_DISPATCH(FindVectors)(op)) return row;
  const auto* at = std::ranges::find(kRows, op, &Row::op);
  return at == std::end(kRows) ? nullptr : at->function;
}

}  // namespace fettle::kernels::elementwise
#endif
