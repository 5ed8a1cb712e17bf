#include "motion/field.h"

#include <cstdlib>

namespace fettle::enhance {
namespace {

constexpr int kLeastSide = 48;  // of the smallest level
constexpr int kFarthest = 6;    // whole samples that are searched there
/// What a quarter of a sample costs that a vector differs from those around.
constexpr uint32_t kRoughness = 32;

int DivideDown(int value, int by) { return value >= 0 ? value / by : -((-value + by - 1) / by); }

int MedianOf(int a, int b, int c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

class LevelSearch {
 public:
  LevelSearch(const Pyramid& a, const Pyramid& b, int level, const MotionField* above)
      : a_(a), b_(b), level_(level), above_(above) {
    const auto& plane = a.level(level);
    field_.across = (plane.width + kStep - 1) / kStep;
    field_.down = (plane.height + kStep - 1) / kStep;
    field_.matches.resize(static_cast<size_t>(field_.across) * field_.down);
  }

  MotionField Run() {
    for (int y = 0; y < field_.down; ++y)
      for (int x = 0; x < field_.across; ++x) Begin(x, y);
    for (int y = field_.down - 1; y >= 0; --y)
      for (int x = field_.across - 1; x >= 0; --x) Again(x, y);
    if (level_ == 0)
      for (int y = 0; y < field_.down; ++y)
        for (int x = 0; x < field_.across; ++x) Sharpen(x, y);
    return std::move(field_);
  }

 private:
  bool Inside(int x, int y) const {
    return x >= 0 && y >= 0 && x < field_.across && y < field_.down;
  }

  uint32_t Error(int x, int y, Vector half) const {
    const int left = 4 * (x * kStep - kStep / 2), top = 4 * (y * kStep - kStep / 2);
    return WindowError(a_.At(level_, left - half.x, top - half.y),
                       b_.At(level_, left + half.x, top + half.y), a_.level(level_).stride);
  }

  uint32_t Roughness(Vector half) const {
    return kRoughness *
           static_cast<uint32_t>(std::abs(half.x - around_.x) + std::abs(half.y - around_.y));
  }

  void Try(int x, int y, Vector half, Match& best, uint32_t& cost) const {
    if (half == best.half && cost != UINT32_MAX) return;
    const uint32_t rough = Roughness(half);
    if (rough >= cost) return;
    const uint32_t error = Error(x, y, half);
    if (error + rough >= cost) return;
    cost = error + rough;
    best = {half, error};
  }

  /// Steps of `size` to where it is best, at most `most` of them.
  void Descend(int x, int y, int size, int most, Match& best, uint32_t& cost) const {
    for (int i = 0; i < most; ++i) {
      const Vector from = best.half;
      for (const Vector step : {Vector{size, 0}, {-size, 0}, {0, size}, {0, -size}})
        Try(x, y, {from.x + step.x, from.y + step.y}, best, cost);
      if (best.half == from) return;
    }
  }

  Vector Above(int x, int y) const {
    if (above_ == nullptr) return {};
    const Match& match =
        above_->at(std::clamp(x, 0, above_->across - 1), std::clamp(y, 0, above_->down - 1));
    return {2 * match.half.x, 2 * match.half.y};
  }

  /// The middle of three neighbours' vectors, else what the level above found.
  void LookAround(int x, int y, int side) {
    around_ = Above(x / 2, y / 2);
    if (!Inside(x - side, y) || !Inside(x, y - side)) return;
    const Vector left = field_.at(x - side, y).half, up = field_.at(x, y - side).half;
    around_ = {MedianOf(left.x, up.x, around_.x), MedianOf(left.y, up.y, around_.y)};
  }

  void Begin(int x, int y) {
    LookAround(x, y, 1);
    Match best;
    uint32_t cost = UINT32_MAX;
    Try(x, y, around_, best, cost);
    Try(x, y, {}, best, cost);
    if (above_ == nullptr) {
      for (int dy = -kFarthest; dy <= kFarthest; ++dy)
        for (int dx = -kFarthest; dx <= kFarthest; ++dx) Try(x, y, {4 * dx, 4 * dy}, best, cost);
    } else {
      const int side = x % 2 == 0 ? -1 : 1, end = y % 2 == 0 ? -1 : 1;
      Try(x, y, Above(x / 2, y / 2), best, cost);
      Try(x, y, Above(x / 2 + side, y / 2), best, cost);
      Try(x, y, Above(x / 2, y / 2 + end), best, cost);
      Try(x, y, Above(x / 2 + side, y / 2 + end), best, cost);
    }
    TryNeighbours(x, y, -1, best, cost);
    Descend(x, y, 4, 6, best, cost);
    field_.at(x, y) = best;
  }

  void TryNeighbours(int x, int y, int side, Match& best, uint32_t& cost) const {
    for (const Vector to : {Vector{side, 0}, {0, side}, {-side, side}, {side, side}})
      if (Inside(x + to.x, y + to.y)) Try(x, y, field_.at(x + to.x, y + to.y).half, best, cost);
  }

  void Again(int x, int y) {
    LookAround(x, y, -1);
    Match best = field_.at(x, y);
    uint32_t cost = best.error + Roughness(best.half);
    TryNeighbours(x, y, 1, best, cost);
    Descend(x, y, 4, 2, best, cost);
    field_.at(x, y) = best;
  }

  void Sharpen(int x, int y) {
    LookAround(x, y, 1);
    Match best = field_.at(x, y);
    uint32_t cost = best.error + Roughness(best.half);
    TryNeighbours(x, y, -1, best, cost);
    TryNeighbours(x, y, 1, best, cost);
    Descend(x, y, 2, 3, best, cost);
    Descend(x, y, 1, 3, best, cost);
    field_.at(x, y) = best;
  }

  const Pyramid &a_, &b_;
  const int level_;
  const MotionField* const above_;
  MotionField field_;
  Vector around_;
};

}  // namespace

template <typename Sample>
void HalfSamples<Sample>::Fill(const Plane& plane) {
  constexpr int kPad = Padded<Sample>::kPad, kTaps = 3;
  for (Padded<Sample>& to : planes) to.Resize(plane.width, plane.height);
  for (int y = 0; y < plane.height; ++y) {
    if constexpr (sizeof(Sample) == 1) {
      const int shift = plane.depth - 8;
      if (shift > 0) {
        const uint16_t* row = plane.row<uint16_t>(y);
        std::transform(row, row + plane.width, planes[0].at(0, y),
                       [shift](uint16_t value) { return static_cast<uint8_t>(value >> shift); });
        continue;
      }
    }
    std::copy_n(plane.row<Sample>(y), plane.width, planes[0].at(0, y));
  }
  planes[0].Extend();
  const int most = sizeof(Sample) == 1 ? 255 : (1 << plane.depth) - 1;
  const int begin = -kPad + kTaps, count = plane.width + 2 * (kPad - kTaps);
  const ptrdiff_t stride = planes[0].stride;
  for (int y = -kPad; y < plane.height + kPad; ++y)
    HalfRow(planes[0].at(begin, y), 1, count, most, planes[1].at(begin, y));
  for (int y = begin; y < plane.height + kPad - kTaps; ++y) {
    HalfRow(planes[0].at(begin, y), stride, count, most, planes[2].at(begin, y));
    HalfRow(planes[1].at(begin, y), stride, count, most, planes[3].at(begin, y));
  }
}

template <typename Sample>
Source<Sample> HalfSamples<Sample>::At(int x, int y) const {
  constexpr int kRoom = 2 * (Padded<Sample>::kPad - 4);  // in half samples
  const int most_x = 2 * (planes[0].width - kWindow) + kRoom;
  const int most_y = 2 * (planes[0].height - kWindow) + kRoom;
  const auto half = [&](int hx, int hy) {
    hx = std::clamp(hx, -kRoom, most_x);
    hy = std::clamp(hy, -kRoom, most_y);
    return planes[static_cast<size_t>((hx & 1) + 2 * (hy & 1))].at(hx >> 1, hy >> 1);
  };
  return {half(x >> 1, y >> 1), half((x + 1) >> 1, (y + 1) >> 1)};
}

template struct HalfSamples<uint8_t>;
template struct HalfSamples<uint16_t>;

void Pyramid::Fill(const Plane& luma) {
  whole.Fill(luma);
  smaller.clear();
  for (const Padded<uint8_t>* from = &whole.planes[0];
       std::min(from->width, from->height) >= 2 * kLeastSide && smaller.size() < 8;
       from = &smaller.back()) {
    Padded<uint8_t> next;
    next.Resize(from->width / 2, from->height / 2);
    for (int y = 0; y < next.height; ++y)
      HalveRow(from->at(0, 2 * y), from->at(0, 2 * y + 1), next.width, next.at(0, y));
    next.Extend();
    smaller.push_back(std::move(next));
  }
}

Source<uint8_t> Pyramid::At(int level, int x, int y) const {
  if (level == 0) return whole.At(x, y);
  const Padded<uint8_t>& plane = smaller[static_cast<size_t>(level) - 1];
  constexpr int kRoom = Padded<uint8_t>::kPad;
  const uint8_t* at =
      plane.at(std::clamp(DivideDown(x, 4), -kRoom, plane.width + kRoom - kWindow),
               std::clamp(DivideDown(y, 4), -kRoom, plane.height + kRoom - kWindow));
  return {at, at};
}

MotionField FindMotion(const Pyramid& a, const Pyramid& b) {
  MotionField field;
  for (int level = a.levels() - 1; level >= 0; --level) {
    const bool first = level == a.levels() - 1;
    field = LevelSearch(a, b, level, first ? nullptr : &field).Run();
  }
  return field;
}

}  // namespace fettle::enhance
