#include "quantise/range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "ops/quantise/op.h"

namespace fettle::quantise {
namespace {

constexpr std::string_view kMethods[] = {"minmax", "percentile", "mse"};  // in the enum's order

/// Candidates for an end: all of it down to a twentieth.
constexpr int kEnds = 64;
constexpr double kNarrowest = 0.05;
double Shrunk(double end, int candidate) {
  return end * (1 - (1 - kNarrowest) * candidate / (kEnds - 1));
}

double SquaredError(const Histogram& seen, const Grid& grid) {
  double error = 0;
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    const int64_t count = seen.counts()[bin];
    if (count == 0) continue;
    const double real = seen.Centre(bin);
    const double off = grid.Dequantise(grid.Quantise(real)) - real;
    error += off * off * static_cast<double>(count);
  }
  return error;
}

/// The shrinking of one end of `range` that leaves the least error.
double BestEnd(const Histogram& seen, Range range, double Range::*end, DType dtype) {
  const double whole = range.*end;
  double best = whole, least = std::numeric_limits<double>::infinity();
  for (int candidate = 0; candidate < kEnds && whole != 0; ++candidate) {
    range.*end = Shrunk(whole, candidate);
    const double error = SquaredError(seen, GridOver(range, dtype));
    if (error >= least) continue;
    least = error;
    best = range.*end;
  }
  return best;
}

Range LeastSquares(const Histogram& seen, DType dtype) {
  const Range whole = {std::min(seen.range().low, 0.0), std::max(seen.range().high, 0.0)};
  Range best = whole;
  // The ends hardly depend on each other: two rounds are enough.
  for (int round = 0; round < 2; ++round) {
    best.high = BestEnd(seen, {best.low, whole.high}, &Range::high, dtype);
    best.low = BestEnd(seen, {whole.low, best.high}, &Range::low, dtype);
  }
  return best;
}

/// The middle of the bin where the counts, from one end, pass `tail`.
template <typename Bins>
double Quantile(const Histogram& seen, double tail, const Bins& bins) {
  double sum = 0;
  for (int bin : bins) {
    sum += static_cast<double>(seen.counts()[bin]);
    if (sum > tail) return seen.Centre(bin);
  }
  return 0;
}

Range Percentile(const Histogram& seen, double percentile) {
  std::array<int, Histogram::kBins> bins;
  std::iota(bins.begin(), bins.end(), 0);
  const double tail = static_cast<double>(seen.total()) * (1 - percentile / 100);
  // An end whose outermost bin is kept is kept whole.
  const auto end = [&](double whole, double found, double outermost) {
    return found == outermost ? whole : found;
  };
  Range range;
  range.low = end(seen.range().low, Quantile(seen, tail, bins), seen.Centre(0));
  std::reverse(bins.begin(), bins.end());
  range.high = end(seen.range().high, Quantile(seen, tail, bins), seen.Centre(bins[0]));
  return range;
}

}  // namespace

Histogram::Histogram(Range range)
    : range_(range), width_((range.high - range.low) / kBins), counts_(kBins) {}

void Histogram::Add(std::span<const float> values) {
  const double inverse = width_ > 0 ? 1 / width_ : 0;
  for (float value : values) {
    const double at = (value - range_.low) * inverse;
    ++counts_[static_cast<size_t>(std::clamp(at, 0.0, kBins - 1.0))];
  }
}

int64_t Histogram::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
}

double Histogram::Centre(int bin) const { return range_.low + (bin + 0.5) * width_; }

int32_t Grid::Quantise(double real) const {
  const double integer = std::nearbyint(real / static_cast<double>(scale)) + zero_point;
  return static_cast<int32_t>(std::clamp<double>(integer, low, high));
}

Grid GridOver(Range range, DType dtype) {
  const ops::QuantRange integers = ops::RangeOf(dtype);
  Grid grid{.low = static_cast<int32_t>(integers.low), .high = static_cast<int32_t>(integers.high)};
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  const double scale = (high - low) / (grid.high - grid.low);
  // Smaller scales have no exact reciprocal in fp32, and nothing to tell apart.
  grid.scale = scale > std::numeric_limits<float>::min() ? static_cast<float>(scale) : 1;
  grid.zero_point = 0;
  const double zero = std::nearbyint(grid.low - low / static_cast<double>(grid.scale));
  grid.zero_point = static_cast<int32_t>(std::clamp<double>(zero, grid.low, grid.high));
  return grid;
}

Result<RangeMethod> RangeMethodFromName(std::string_view name) {
  const auto* found = std::ranges::find(kMethods, name);
  if (found != std::end(kMethods)) return static_cast<RangeMethod>(found - std::begin(kMethods));
  return InvalidArgument("range method: expected minmax|percentile|mse, got '{}'", name);
}

std::vector<std::string> RangeMethodNames() { return {std::begin(kMethods), std::end(kMethods)}; }

Range ChooseRange(const Histogram& seen, RangeMethod method, double percentile, DType dtype) {
  switch (method) {
    case RangeMethod::kPercentile: return Percentile(seen, percentile);
    case RangeMethod::kMse: return LeastSquares(seen, dtype);
    case RangeMethod::kMinMax: break;
  }
  return seen.range();
}

}  // namespace fettle::quantise
