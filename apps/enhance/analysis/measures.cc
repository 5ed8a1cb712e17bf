#include "analysis/measures.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

namespace fettle::enhance {
namespace {

constexpr int kBlock = 16;
constexpr int kCodedBlock = 8;

/// Calls `visit(rows of samples at x, y)` for each whole block: rows[i] is its line i.
template <typename Sample, typename Visit>
void ForBlocks(const Plane& luma, Visit&& visit) {
  const Sample* rows[kBlock];
  for (int y = 0; y + kBlock <= luma.height; y += kBlock)
    for (int x = 0; x + kBlock <= luma.width; x += kBlock) {
      for (int i = 0; i < kBlock; ++i) rows[i] = luma.row<Sample>(y + i) + x;
      visit(rows);
    }
}

struct NoiseBlock {
  double flatness, response;  // small: flat; mean of Immerkaer's operator
};

/// The spread of the means of 4x4 parts, which noise hardly moves, and the operator's mean size.
template <typename Sample>
bool Measure(const Sample* const rows[kBlock], double unit, NoiseBlock& block) {
  double least = 1e9, most = 0, mean = 0;
  for (int y = 0; y < kBlock; y += 4)
    for (int x = 0; x < kBlock; x += 4) {
      int sum = 0;
      for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k) sum += rows[y + i][x + k];
      least = std::min(least, sum / 16.0);
      most = std::max(most, sum / 16.0);
      mean += sum / 256.0;
    }
  if (mean * unit < 24 || mean * unit > 228) return false;
  int64_t total = 0;
  for (int y = 1; y + 1 < kBlock; ++y)
    for (int x = 1; x + 1 < kBlock; ++x) {
      const Sample *a = rows[y - 1] + x, *b = rows[y] + x, *c = rows[y + 1] + x;
      total += std::abs(a[-1] - 2 * a[0] + a[1] - 2 * b[-1] + 4 * b[0] - 2 * b[1] + c[-1] -
                        2 * c[0] + c[1]);
    }
  block = {(most - least) * unit,
           static_cast<double>(total) * unit / ((kBlock - 2) * (kBlock - 2))};
  return true;
}

}  // namespace

Histogram HistogramOf(const Plane& luma) {
  Histogram histogram = {};
  const int shift = luma.depth - 8;
  ForSampleType(luma.depth, [&](auto sample) {
    for (int y = 0; y < luma.height; ++y) {
      const auto* row = luma.row<decltype(sample)>(y);
      for (int x = 0; x < luma.width; ++x) ++histogram[static_cast<uint8_t>(row[x] >> shift)];
    }
  });
  return histogram;
}

double MeanOf(const Histogram& histogram) {
  double sum = 0, count = 0;
  for (size_t level = 0; level < histogram.size(); ++level) {
    sum += static_cast<double>(level) * histogram[level];
    count += histogram[level];
  }
  return count > 0 ? sum / count : 0;
}

int PercentileOf(const Histogram& histogram, double share) {
  uint64_t all = 0, below = 0;
  for (const uint32_t count : histogram) all += count;
  for (size_t level = 0; level < histogram.size(); ++level) {
    below += histogram[level];
    if (static_cast<double>(below) > share * static_cast<double>(all))
      return static_cast<int>(level);
  }
  return 255;
}

double Difference(const Histogram& a, const Histogram& b) {
  double difference = 0, all = 0;
  for (size_t level = 0; level < a.size(); ++level) {
    difference += std::abs(static_cast<double>(a[level]) - b[level]);
    all += static_cast<double>(a[level]) + b[level];
  }
  return all > 0 ? difference / all : 0;
}

double BlockinessOf(const Plane& luma) {
  double on = 0, off = 0;
  int64_t on_count = 0, off_count = 0;
  const auto add = [&](int64_t sum, int64_t count, bool border) {
    (border ? on : off) += static_cast<double>(sum);
    (border ? on_count : off_count) += count;
  };
  ForSampleType(luma.depth, [&](auto sample) {
    using Sample = decltype(sample);
    std::vector<int64_t> across(static_cast<size_t>(luma.width));
    for (int y = 1; y < luma.height; ++y) {
      const Sample *row = luma.row<Sample>(y), *above = luma.row<Sample>(y - 1);
      int64_t down = 0;
      for (int x = 1; x < luma.width; ++x) {
        across[static_cast<size_t>(x)] += std::abs(row[x] - row[x - 1]);
        down += std::abs(row[x] - above[x]);
      }
      add(down, luma.width - 1, y % kCodedBlock == 0);
    }
    for (int x = 1; x < luma.width; ++x)
      add(across[static_cast<size_t>(x)], luma.height - 1, x % kCodedBlock == 0);
  });
  if (on_count == 0 || off <= 0) return 1;
  return on / static_cast<double>(on_count) / (off / static_cast<double>(off_count));
}

double NoiseOf(const Plane& luma) {
  const double unit = 255.0 / WhiteOf(luma.depth);
  std::vector<NoiseBlock> blocks;
  ForSampleType(luma.depth, [&](auto sample) {
    using Sample = decltype(sample);
    ForBlocks<Sample>(luma, [&](const Sample* const rows[kBlock]) {
      NoiseBlock block;
      if (Measure(rows, unit, block)) blocks.push_back(block);
    });
  });
  if (blocks.empty()) return 0;
  const size_t kept = std::max<size_t>(1, blocks.size() / 10);
  std::ranges::nth_element(blocks, blocks.begin() + static_cast<ptrdiff_t>(kept - 1), {},
                           &NoiseBlock::flatness);
  double response = 0;
  for (size_t i = 0; i < kept; ++i) response += blocks[i].response;
  return std::sqrt(std::numbers::pi / 2) / 6 * response / static_cast<double>(kept);
}

double ScreenShareOf(const Plane& luma) {
  constexpr size_t kTextLevels = 32;
  constexpr int kTextSpan = 64, kFlatOfText = 4;
  const int shift = luma.depth - 8;
  int64_t flat = 0, text = 0, all = 0;
  ForSampleType(luma.depth, [&](auto sample) {
    using Sample = decltype(sample);
    ForBlocks<Sample>(luma, [&](const Sample* const rows[kBlock]) {
      std::bitset<256> seen;
      for (int y = 0; y < kBlock; ++y)
        for (int x = 0; x < kBlock; ++x) seen.set(static_cast<uint8_t>(rows[y][x] >> shift));
      const size_t levels = seen.count();
      int lowest = 0;
      while (!seen.test(static_cast<size_t>(lowest))) ++lowest;
      flat += levels <= 2;
      text += levels > 2 && levels <= kTextLevels &&
              (seen >> static_cast<size_t>(lowest + kTextSpan + 1)).any();
      ++all;
    });
  });
  if (all == 0) return 0;
  return static_cast<double>(std::min(flat, kFlatOfText * text)) / static_cast<double>(all);
}

bool SamePicture(const Plane& a, const Plane& b) {
  if (a.width != b.width || a.height != b.height || a.depth != b.depth) return false;
  const size_t bytes = static_cast<size_t>(a.width) * (a.depth > 8 ? 2 : 1);
  for (int y = 0; y < a.height; ++y)
    if (std::memcmp(a.data + y * a.stride, b.data + y * b.stride, bytes) != 0) return false;
  return true;
}

}  // namespace fettle::enhance
