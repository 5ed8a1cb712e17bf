#include "people/outline.h"

#include <algorithm>
#include <cmath>

namespace fettle::enhance {
namespace {

/// Places to each side that a model is fitted on, and how much contrast counts as an edge.
constexpr int kRadius = 3;
constexpr float kEdge = 0.02f * 0.02f;

/// Running means of up to 2 kRadius + 1 values; less of them at the ends.
void MeanLine(float* line, int count, ptrdiff_t step, std::vector<float>& copy) {
  copy.resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) copy[static_cast<size_t>(i)] = line[i * step];
  for (int i = 0; i < count; ++i) {
    const int begin = std::max(0, i - kRadius), end = std::min(count, i + kRadius + 1);
    float sum = 0;
    for (int k = begin; k < end; ++k) sum += copy[static_cast<size_t>(k)];
    line[i * step] = sum / static_cast<float>(end - begin);
  }
}

void MeanMap(std::vector<float>& map, int width, int height, std::vector<float>& copy) {
  for (int y = 0; y < height; ++y)
    MeanLine(map.data() + static_cast<ptrdiff_t>(y) * width, width, 1, copy);
  for (int x = 0; x < width; ++x) MeanLine(map.data() + x, height, width, copy);
}

}  // namespace

void Outline::Models(const Map& shares) {
  const size_t count = shares.values.size();
  offset_.resize(count);
  products_.resize(count);
  squares_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    offset_[i] = static_cast<float>(shares.values[i]) / 255;
    products_[i] = guide_[i] * offset_[i];
    squares_[i] = guide_[i] * guide_[i];
  }
  slope_ = guide_;
  for (std::vector<float>* map : {&slope_, &offset_, &products_, &squares_})
    MeanMap(*map, shares.width, shares.height, line_);
  for (size_t i = 0; i < count; ++i) {
    const float mean = slope_[i], variance = squares_[i] - mean * mean;
    slope_[i] = (products_[i] - mean * offset_[i]) / (std::max(variance, 0.0f) + kEdge);
    offset_[i] -= slope_[i] * mean;
  }
  MeanMap(slope_, shares.width, shares.height, line_);
  MeanMap(offset_, shares.width, shares.height, line_);
}

void Outline::Fit(const Map& shares, const Plane& luma, Map& alpha) {
  ReadAt(luma, shares.width, shares.height, guide_);
  Models(shares);
  const std::vector<Stand> columns = Stands(luma.width, shares.width);
  const std::vector<Stand> rows = Stands(luma.height, shares.height);
  const auto width = static_cast<size_t>(shares.width);
  alpha = {luma.width, luma.height,
           std::vector<uint8_t>(static_cast<size_t>(luma.width) * luma.height)};
  std::vector<float> slopes(width), offsets(width);
  row_.resize(static_cast<size_t>(luma.width));
  uint8_t* to = alpha.values.data();
  for (int y = 0; y < luma.height; ++y, to += luma.width) {
    const Stand& stand = rows[static_cast<size_t>(y)];
    const size_t before = width * static_cast<size_t>(stand.before);
    const size_t after = width * static_cast<size_t>(stand.after);
    for (size_t x = 0; x < width; ++x) {
      slopes[x] = slope_[before + x] + stand.share * (slope_[after + x] - slope_[before + x]);
      offsets[x] = offset_[before + x] + stand.share * (offset_[after + x] - offset_[before + x]);
    }
    ReadRows(luma, y, 1, row_.data());
    for (int x = 0; x < luma.width; ++x) {
      const Stand& at = columns[static_cast<size_t>(x)];
      const float slope = slopes[at.before] + at.share * (slopes[at.after] - slopes[at.before]);
      const float offset = offsets[at.before] + at.share * (offsets[at.after] - offsets[at.before]);
      const float share = slope * row_[static_cast<size_t>(x)] + offset;
      to[x] = static_cast<uint8_t>(255 * std::clamp(share, 0.0f, 1.0f) + 0.5f);
    }
  }
}

void Widen(const Map& cover, int width, int height, Map& covered) {
  covered = {width, height, std::vector<uint8_t>(static_cast<size_t>(width) * height)};
  const std::vector<Stand> columns = Stands(width, cover.width),
                           rows = Stands(height, cover.height);
  uint8_t* to = covered.values.data();
  for (const Stand& row : rows) {
    const uint8_t* upper = cover.values.data() + static_cast<ptrdiff_t>(row.before) * cover.width;
    const uint8_t* lower = cover.values.data() + static_cast<ptrdiff_t>(row.after) * cover.width;
    for (const Stand& at : columns)
      *to++ = upper[at.before] | upper[at.after] | lower[at.before] | lower[at.after];
  }
}

void Shrink(const Map& from, int width, int height, Map& to) {
  to = {width, height, std::vector<uint8_t>(static_cast<size_t>(width) * height)};
  uint8_t* value = to.values.data();
  for (int y = 0; y < height; ++y) {
    const int top = static_cast<int>(static_cast<int64_t>(y) * from.height / height);
    const int bottom = std::max(top + 1, static_cast<int>((y + 1LL) * from.height / height));
    for (int x = 0; x < width; ++x) {
      const int left = static_cast<int>(static_cast<int64_t>(x) * from.width / width);
      const int right = std::max(left + 1, static_cast<int>((x + 1LL) * from.width / width));
      int sum = 0;
      for (int i = top; i < bottom; ++i)
        for (int k = left; k < right; ++k)
          sum += from.values[static_cast<size_t>(i) * from.width + k];
      const int count = (bottom - top) * (right - left);
      *value++ = static_cast<uint8_t>((sum + count / 2) / count);
    }
  }
}

}  // namespace fettle::enhance
