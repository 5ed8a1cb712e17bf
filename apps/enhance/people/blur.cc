#include "people/blur.h"

#include <algorithm>
#include <cmath>

namespace fettle::enhance {
namespace {

/// Boxes that stand for a Gaussian.
constexpr int kBoxes = 3;
/// What a place weighs at least, so that there is a mean where people are all there is.
constexpr float kLeastWeight = 1e-3f;

/// Running sums of `radius` values to each side, over their count; ends repeat.
void BoxLine(float* line, int count, ptrdiff_t step, int radius, std::vector<float>& copy) {
  copy.resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) copy[static_cast<size_t>(i)] = line[i * step];
  const auto at = [&](int i) { return copy[static_cast<size_t>(std::clamp(i, 0, count - 1))]; };
  float sum = 0;
  for (int i = -radius; i <= radius; ++i) sum += at(i);
  for (int i = 0; i < count; ++i) {
    line[i * step] = sum / static_cast<float>(2 * radius + 1);
    sum += at(i + radius + 1) - at(i - radius);
  }
}

/// The longest run of covered places in a row.
int WidestRun(const Map& map) {
  int widest = 0;
  for (int y = 0; y < map.height; ++y) {
    const uint8_t* row = map.values.data() + static_cast<ptrdiff_t>(y) * map.width;
    for (int x = 0, run = 0; x < map.width; ++x) {
      run = row[x] != 0 ? run + 1 : 0;
      widest = std::max(widest, run);
    }
  }
  return widest;
}

template <typename Sample>
void MosaicBlock(const Map& covered, const Plane& plane, int left, int top, int right, int bottom) {
  const auto place = [&](int y) {
    return covered.values.data() + static_cast<ptrdiff_t>(y) * covered.width;
  };
  bool any = false;
  for (int y = top; y < bottom && !any; ++y)
    any = std::any_of(place(y) + left, place(y) + right, [](uint8_t value) { return value != 0; });
  if (!any) return;
  int64_t sum = 0;
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) sum += plane.row<Sample>(y)[x];
  const int64_t count = static_cast<int64_t>(right - left) * (bottom - top);
  const auto mean = static_cast<Sample>((sum + count / 2) / count);
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x)
      if (place(y)[x] != 0) plane.row<Sample>(y)[x] = mean;
}

}  // namespace

void Backdrop::Gather(const Map& alpha, const Plane& plane) {
  width_ = (plane.width + cell_ - 1) / cell_;
  height_ = (plane.height + cell_ - 1) / cell_;
  sums_.assign(static_cast<size_t>(width_) * height_, 0.0f);
  weights_.assign(sums_.size(), 0.0f);
  row_.resize(static_cast<size_t>(plane.width));
  const uint8_t* shares = alpha.values.data();
  for (int y = 0; y < plane.height; ++y) {
    ReadRows(plane, y, 1, row_.data());
    float* sum = sums_.data() + static_cast<ptrdiff_t>(y / cell_) * width_;
    float* weight = weights_.data() + static_cast<ptrdiff_t>(y / cell_) * width_;
    for (int x = 0; x < plane.width; ++sum, ++weight)
      for (const int end = std::min(x + cell_, plane.width); x < end; ++x) {
        const float share = kLeastWeight + static_cast<float>(255 - shares[x]) / 255;
        *sum += share * row_[static_cast<size_t>(x)];
        *weight += share;
      }
    shares += plane.width;
  }
}

void Backdrop::Smooth(std::vector<float>& grid, int radius) {
  for (int turn = 0; turn < kBoxes; ++turn) {
    for (int y = 0; y < height_; ++y)
      BoxLine(grid.data() + static_cast<ptrdiff_t>(y) * width_, width_, 1, radius, row_);
    for (int x = 0; x < width_; ++x) BoxLine(grid.data() + x, height_, width_, radius, row_);
  }
}

void Backdrop::Blur(const Map& alpha, double sigma, const Plane& plane) {
  cell_ = std::max(1, static_cast<int>(sigma / 3));
  Gather(alpha, plane);
  // A box of radius r has a variance of r (r + 1) / 3.
  const double cells = sigma / cell_;
  const int radius =
      std::max(1, static_cast<int>(std::lround((std::sqrt(1 + 4 * cells * cells) - 1) / 2)));
  Smooth(sums_, radius);
  Smooth(weights_, radius);
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] /= weights_[i];
  const std::vector<Stand> columns = Stands(plane.width, width_),
                           rows = Stands(plane.height, height_);
  row_.resize(static_cast<size_t>(plane.width));
  std::vector<float> grid(static_cast<size_t>(width_));
  const uint8_t* shares = alpha.values.data();
  for (int y = 0; y < plane.height; ++y, shares += plane.width) {
    const Stand& row = rows[static_cast<size_t>(y)];
    const float* before = sums_.data() + static_cast<ptrdiff_t>(row.before) * width_;
    const float* after = sums_.data() + static_cast<ptrdiff_t>(row.after) * width_;
    for (int x = 0; x < width_; ++x)
      grid[static_cast<size_t>(x)] = before[x] + row.share * (after[x] - before[x]);
    ReadRows(plane, y, 1, row_.data());
    for (int x = 0; x < plane.width; ++x) {
      const Stand& at = columns[static_cast<size_t>(x)];
      const float room = grid[at.before] + at.share * (grid[at.after] - grid[at.before]);
      float& value = row_[static_cast<size_t>(x)];
      value = room + static_cast<float>(shares[x]) / 255 * (value - room);
    }
    WriteRows(row_.data(), y, 1, plane);
  }
}

void Mosaic(const Map& covered, int block_width, int block_height, const Plane& plane) {
  ForSampleType(plane.depth, [&](auto sample) {
    for (int y = 0; y < plane.height; y += block_height)
      for (int x = 0; x < plane.width; x += block_width)
        MosaicBlock<decltype(sample)>(covered, plane, x, y, std::min(x + block_width, plane.width),
                                      std::min(y + block_height, plane.height));
  });
}

int BlockSide(const Map& cover, const Map& heads, int width, int height) {
  constexpr int kLeast = 8;
  const double places = static_cast<double>(width) / std::max(cover.width, 1);
  const double by_size = places * std::max(WidestRun(heads) / 3.0, WidestRun(cover) / 6.0);
  const double by_frame = std::max(width, height) / 48.0;
  return std::max(kLeast, static_cast<int>(std::ceil(std::max(by_size, by_frame))));
}

}  // namespace fettle::enhance
