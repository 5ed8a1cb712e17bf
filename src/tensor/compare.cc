#include "tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fettle {
namespace {

double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF16: return 0x1p-10;
    case DType::kBF16: return 0x1p-7;
    case DType::kF8E4M3FN: return 0x1p-3;
    case DType::kF8E5M2: return 0x1p-2;
    case DType::kF64: return 0x1p-52;
    case DType::kF32: return 0x1p-23;
    default: return 0;  // integers are exact
  }
}

/// Between neighbours among the smallest numbers, where relative errors say nothing. Of wide types,
/// what kernels may flush to zero.
double SmallestStep(DType dtype) {
  switch (dtype) {
    case DType::kF16: return 0x1p-24;
    case DType::kF8E4M3FN: return 0x1p-9;
    case DType::kF8E5M2: return 0x1p-16;
    default: return IsFloat(dtype) ? 1e-30 : 0;
  }
}

bool Close(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::fabs(got - want) <= tolerance.atol + tolerance.rtol * std::fabs(want);
}

}  // namespace

Tolerance KernelTolerance(DType storage, int64_t length, double magnitude) {
  const double epsilon = Epsilon(storage);
  const double accumulated = 4 * std::sqrt(static_cast<double>(std::max<int64_t>(length, 1)));
  // Reduced types are accumulated in fp32 and rounded once.
  const double sum_epsilon = std::min(epsilon, Epsilon(DType::kF32));
  return {.atol = accumulated * sum_epsilon * magnitude + SmallestStep(storage),
          .rtol = 4 * epsilon};
}

std::string Difference::ToString(const Shape& shape) const {
  if (ok()) return fmt::format("all {} elements agree (max abs {:.3g})", elements, max_abs);
  std::vector<int64_t> coordinate(shape.rank());
  Unravel(first_bad, shape, coordinate);
  return fmt::format(
      "{} of {} elements differ; first at {}: expected {:.9g}, got {:.9g}; max abs {:.3g}", bad,
      elements, Shape(coordinate).ToString(), want_at_first_bad, got_at_first_bad, max_abs);
}

Comparison::Comparison(const Tolerance& tolerance) : tolerance_(tolerance) {
  difference_.want_min = std::numeric_limits<double>::infinity();
  difference_.want_max = -difference_.want_min;
}

void Comparison::Add(int64_t first, std::span<const double> got, std::span<const double> want) {
  Difference& d = difference_;
  d.elements += static_cast<int64_t>(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const double w = want[i], g = got[i];
    if (!Close(g, w, tolerance_) && d.bad++ == 0) {
      d.first_bad = first + static_cast<int64_t>(i);
      d.want_at_first_bad = w;
      d.got_at_first_bad = g;
    }
    if (!std::isfinite(w) || !std::isfinite(g)) continue;
    const double error = std::fabs(g - w);
    d.max_abs = std::max(d.max_abs, error);
    if (w != 0) d.max_rel = std::max(d.max_rel, error / std::fabs(w));
    d.want_min = std::min(d.want_min, w);
    d.want_max = std::max(d.want_max, w);
    signal_ += w * w;
    noise_ += error * error;
    dot_ += w * g;
    got_norm_ += g * g;
  }
}

Difference Comparison::Finish() const {
  Difference d = difference_;
  if (d.want_min > d.want_max) d.want_min = d.want_max = 0;
  d.sqnr_db =
      noise_ == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal_ / noise_);
  d.cosine = signal_ == 0 || got_norm_ == 0 ? (noise_ == 0 ? 1 : 0)
                                            : dot_ / std::sqrt(signal_ * got_norm_);
  return d;
}

Difference Compare(const HostView& got, const HostView& want, const Tolerance& tolerance) {
  FETTLE_CHECK(got.shape == want.shape, "compared tensors need equal shapes");
  Comparison comparison(tolerance);
  constexpr int64_t kPiece = 1024;
  double got_piece[kPiece], want_piece[kPiece];
  const int64_t elements = want.shape.elements();
  const bool dense = got.IsDense() && want.IsDense();
  std::vector<int64_t> coordinate(want.shape.rank());
  for (int64_t begin = 0; begin < elements; begin += kPiece) {
    const size_t count = std::min(kPiece, elements - begin);
    for (size_t i = 0; i < count; ++i) {
      const int64_t index = begin + static_cast<int64_t>(i);
      if (!dense) Unravel(index, want.shape, coordinate);
      got_piece[i] = got.GetDouble(dense ? index : got.Offset(coordinate));
      want_piece[i] = want.GetDouble(dense ? index : want.Offset(coordinate));
    }
    comparison.Add(begin, {got_piece, count}, {want_piece, count});
  }
  return comparison.Finish();
}

}  // namespace fettle
