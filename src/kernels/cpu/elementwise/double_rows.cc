// compiled: small
// Functions of double, which exporters' tables of positions and spectra are made of: those of the C
// library, one by one.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise/typed_rows.h"

namespace fettle::kernels::elementwise {
namespace {

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
    {"Exp", Of([](double x) { return std::exp(x); })},
    {"Floor", Of([](double x) { return std::floor(x); })},
    {"Log", Of([](double x) { return std::log(x); })},
    {"Pow", Power},
    {"Reciprocal", Of([](double x) { return 1 / x; })},
    {"Round", Of([](double x) { return std::nearbyint(x); })},
    {"Sigmoid", Of([](double x) { return 1 / (1 + std::exp(-x)); })},
    {"Sin", Of([](double x) { return std::sin(x); })},
    {"Sinh", Of([](double x) { return std::sinh(x); })},
    {"Sqrt", Of([](double x) { return std::sqrt(x); })},
    {"Tan", Of([](double x) { return std::tan(x); })},
    {"Tanh", Of([](double x) { return std::tanh(x); })},
    // keep-sorted end
};

}  // namespace

TypedRow FindDoubleRow(std::string_view op) {
  const auto* at = std::ranges::find(kRows, op, &Row::op);
  return at == std::end(kRows) ? nullptr : at->function;
}

}  // namespace fettle::kernels::elementwise
