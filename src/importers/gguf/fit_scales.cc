#include "importers/gguf/fit_scales.h"

#include <cmath>

namespace fettle::gguf {
namespace {

constexpr int kLanes = 8;

/// Sums over elements and their codes, for least squares.
struct Sums {
  double code = 0, squares = 0, x = 0, products = 0, error = 0;
};

double Total(const float* lanes) {
  double total = 0;
  for (int i = 0; i < kLanes; ++i) total += static_cast<double>(lanes[i]);
  return total;
}

float Inverse(float scale) {
  const float inverse = scale != 0 ? 1 / scale : 0;
  return std::isfinite(inverse) ? inverse : 0;
}

Sums SumUp(const float* x, int count, const Grid& grid, const CodeRange& range) {
  float code[kLanes] = {}, squares[kLanes] = {}, sum[kLanes] = {}, products[kLanes] = {},
        error[kLanes] = {};
  const float inverse = Inverse(grid.scale);
  for (int i = 0; i < count; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      const float value = x[i + j];
      const float q =
          NearestWhole(Clamped((value - grid.minimum) * inverse, range.low, range.high));
      const float off = value - (grid.scale * q + grid.minimum);
      code[j] += q;
      squares[j] += q * q;
      sum[j] += value;
      products[j] += value * q;
      error[j] += off * off;
    }
  }
  return {Total(code), Total(squares), Total(sum), Total(products), Total(error)};
}

float Held(double value, const CodeRange& range) {
  const auto single = static_cast<float>(value);
  return range.halves ? AsHalf(single) : single;
}

/// The least-squares grid for the codes that `sums` saw; a scale of 0 where there is none.
Grid Improved(const Sums& sums, int count, const CodeRange& range, bool has_minimum) {
  Grid grid;
  const double n = count, determinant = n * sums.squares - sums.code * sums.code;
  if (has_minimum && determinant > 0) {
    const double minimum = (sums.squares * sums.x - sums.code * sums.products) / determinant;
    if (!range.below_zero || minimum <= 0) {
      grid.scale = Held((n * sums.products - sums.code * sums.x) / determinant, range);
      grid.minimum = Held(minimum, range);
      return grid;
    }
  }
  if (sums.squares > 0) grid.scale = Held(sums.products / sums.squares, range);
  return grid;
}

/// Goes on from `grid` while that helps, and keeps what is better than `best`.
void Try(const float* x, int count, Grid grid, const CodeRange& range, bool has_minimum,
         Grid& best) {
  double before = HUGE_VAL;
  for (int turn = 0; turn < 3; ++turn) {
    const Sums sums = SumUp(x, count, grid, range);
    grid.error = sums.error;
    if (grid.error < best.error) best = grid;
    if (!(grid.error < before)) return;
    before = grid.error;
    grid = Improved(sums, count, range, has_minimum);
    if (grid.scale == 0 || !std::isfinite(grid.scale)) return;
  }
}

}  // namespace

void PutCodes(const float* x, int count, const Grid& grid, const CodeRange& range, float* codes) {
  const float inverse = Inverse(grid.scale);
  for (int i = 0; i < count; ++i)
    codes[i] = NearestWhole(Clamped((x[i] - grid.minimum) * inverse, range.low, range.high));
}

double ErrorOf(const float* x, int count, const Grid& grid, const CodeRange& range) {
  return SumUp(x, count, grid, range).error;
}

Grid FitScale(const float* x, int count, const CodeRange& range) {
  float extreme = 0;
  for (int i = 0; i < count; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  Grid best;
  best.error = SumUp(x, count, best, range).error;
  if (extreme == 0) return best;
  // The largest element lies at the lowest code, or near it on either side.
  for (int step = -6; step <= 8; step += 2) {
    const double at = static_cast<double>(range.low) * (1 + step * 0.0125);
    Try(x, count, {Held(static_cast<double>(extreme) / at, range)}, range, false, best);
  }
  return best;
}

Grid FitScaleAndMinimum(const float* x, int count, const CodeRange& range) {
  float low = x[0], high = x[0];
  for (int i = 1; i < count; ++i) {
    low = std::fmin(low, x[i]);
    high = std::fmax(high, x[i]);
  }
  if (range.below_zero) low = std::fmin(low, 0.0F);
  Grid best{0, Held(range.below_zero ? low : (low + high) / 2, range)};
  best.error = SumUp(x, count, best, range).error;
  if (!(high > low)) return best;
  for (int step = -1; step <= 7; ++step) {
    const double levels =
        static_cast<double>(range.high) + step * 0.02 * static_cast<double>(range.high);
    const double scale = (static_cast<double>(high) - static_cast<double>(low)) / levels;
    // What is cut off is cut off at both ends, or at the upper one alone.
    const double cut = (levels - static_cast<double>(range.high)) * scale;
    Try(x, count, {Held(scale, range), Held(low, range)}, range, true, best);
    if (step > 0 && !range.below_zero)
      Try(x, count, {Held(scale, range), Held(static_cast<double>(low) + cut / 2, range)}, range,
          true, best);
  }
  return best;
}

}  // namespace fettle::gguf
