// Which sizes of a range are worth tuning.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tuner/model/tune_range.h"

namespace fettle::tuner {
namespace {

constexpr size_t kMostSizes = 9;

/// A gap as wide as this is looked into where both of its ends have the same kernels, and where
/// they have not.
constexpr double kWide = 4, kWideWhereChanged = 1.25;

int64_t ExtentAt(int64_t low, int64_t high, double share) {
  if (low == high) return low;
  const int64_t step = std::gcd(low, high);
  const double extent = static_cast<double>(low) *
                        std::pow(static_cast<double>(high) / static_cast<double>(low), share);
  return std::clamp<int64_t>(std::llround(extent / static_cast<double>(step)) * step, low, high);
}

}  // namespace

InputShapes ShapesAt(const ShapeRanges& ranges, double share) {
  InputShapes shapes;
  for (const auto& [name, range] : ranges) {
    Shape shape = range.low;
    for (int axis = 0; axis < shape.rank(); ++axis)
      shape[axis] = ExtentAt(range.low[axis], range.high[axis], share);
    shapes.emplace(name, std::move(shape));
  }
  return shapes;
}

std::string SizeText(const InputShapes& shapes) {
  std::string text;
  for (const auto& [name, shape] : shapes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shape.ToString());
  return text;
}

double WidestRatio(const InputShapes& small, const InputShapes& large) {
  double widest = 1;
  for (const auto& [name, shape] : small) {
    const Shape& other = large.at(name);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] > 0)
        widest =
            std::max(widest, static_cast<double>(other[axis]) / static_cast<double>(shape[axis]));
    }
  }
  return widest;
}

void RangeSizes::Add(TunedSize size) {
  const auto at = std::ranges::lower_bound(sizes_, size.share, {}, &TunedSize::share);
  sizes_.insert(at, std::move(size));
  for (size_t i = 1; i < sizes_.size(); ++i)
    sizes_[i].regime = sizes_[i - 1].regime + (sizes_[i].kernels == sizes_[i - 1].kernels ? 0 : 1);
}

double RangeSizes::Worth(const TunedSize& small, const TunedSize& large) const {
  const double middle = std::midpoint(small.share, large.share);
  if (std::ranges::find(left_out_, middle) != left_out_.end()) return 0;
  const InputShapes shapes = At(middle);
  if (shapes == small.shapes || shapes == large.shapes) return 0;
  const double ratio = WidestRatio(small.shapes, large.shapes);
  const bool changed = small.kernels != large.kernels;
  const bool is_whole = sizes_.size() == 2;
  if (!is_whole && ratio <= (changed ? kWideWhereChanged : kWide)) return 0;
  return std::log(ratio) * (changed ? 2 : 1);
}

std::optional<double> RangeSizes::Next() const {
  if (sizes_.empty()) return 1;
  if (sizes_.size() == 1) return 0;
  if (sizes_.size() >= kMostSizes) return std::nullopt;
  std::optional<double> next;
  double most = 0;
  for (size_t i = 1; i < sizes_.size(); ++i) {
    const double worth = Worth(sizes_[i - 1], sizes_[i]);
    if (worth <= most) continue;
    most = worth;
    next = std::midpoint(sizes_[i - 1].share, sizes_[i].share);
  }
  return next;
}

double RangeSizes::ExpectedSeconds(double share) const {
  const auto at = std::ranges::lower_bound(sizes_, share, {}, &TunedSize::share);
  double seconds = at == sizes_.end() ? 0 : at->seconds;
  if (at != sizes_.begin()) seconds = std::max(seconds, std::prev(at)->seconds);
  return seconds;
}

}  // namespace fettle::tuner
