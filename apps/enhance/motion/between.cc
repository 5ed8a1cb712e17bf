#include "motion/between.h"

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "analysis/scene.h"

namespace fettle::enhance {
namespace {

/// Mean errors of windows, in levels: of one that surely does not match, and half of the weight.
constexpr double kNoMatch = 24, kHalfWeight = 2.5;

/// Cells of so many samples whose levels all differ by at most so much stay where they are:
/// captions over what moves.
constexpr int kStillCell = 4, kStill = 4;

/// A bell over `size` samples in the middle of a window: those of neighbours, half as far away, add
/// up to the same everywhere.
std::array<uint8_t, kWindow * kWindow> Bell(int width, int height) {
  const auto side = [](int at, int size) {
    const double place = at - (kWindow - size) / 2 + 0.5;
    if (place < 0 || place > size) return 0.0;
    return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * place / size);
  };
  std::array<uint8_t, kWindow * kWindow> bell;
  for (int y = 0; y < kWindow; ++y)
    for (int x = 0; x < kWindow; ++x)
      bell[static_cast<size_t>(y * kWindow + x)] =
          static_cast<uint8_t>(std::lround(255 * side(x, width) * side(y, height)));
  return bell;
}

}  // namespace

PairKind Between::Judge(const AVFrame& a, const AVFrame& b) const {
  const Scene before = SceneOf(a), after = SceneOf(b);
  if (before.number != after.number) return PairKind::kCut;
  if (SamePicture(PlaneOf(a, 0), PlaneOf(b, 0))) return PairKind::kRepeated;
  return PairKind::kMoved;
}

void Between::WeighBlocks() {
  blending_.clear();
  for (const Match& match : field_.matches) {
    const double error = match.error / 256.0 / kHalfWeight;
    blending_.push_back({.scale = std::max(1, static_cast<int>(255 / (1 + error * error)))});
  }
}

void Between::FindStill(const Padded<uint8_t>& a, const Padded<uint8_t>& b) {
  still_across_ = (a.width + kStillCell - 1) / kStillCell;
  const int down = (a.height + kStillCell - 1) / kStillCell;
  still_.assign(static_cast<size_t>(still_across_) * down, 1);
  for (int y = 0; y < a.height; ++y) {
    const uint8_t *one = a.at(0, y), *other = b.at(0, y);
    uint8_t* line = still_.data() + static_cast<ptrdiff_t>(y / kStillCell) * still_across_;
    for (int cell = 0; cell < still_across_; ++cell, one += kStillCell, other += kStillCell) {
      int most = 0;  // reads beyond the border, where there is room
      for (int x = 0; x < kStillCell; ++x) most = std::max(most, std::abs(one[x] - other[x]));
      line[cell] = line[cell] && most <= kStill;
    }
  }
}

template <typename Sample>
void Between::Blend(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b, Vector shrink,
                    const Plane& to) {
  const int step_x = kStep >> shrink.x, step_y = kStep >> shrink.y;
  const auto bell = Bell(2 * step_x, 2 * step_y);
  const ptrdiff_t row = field_.across * step_x + 2 * kWindow, stride = a.planes[0].stride;
  sums_.assign(static_cast<size_t>(row * kWindow), 0);
  totals_.assign(sums_.size(), 0);
  const int margin = (kWindow - step_x) / 2, most = (1 << to.depth) - 1;
  const int above = (kWindow - step_y) / 2;  // rows of a window before its block
  for (int y = 0; y < field_.down; ++y) {
    for (int x = 0; x < field_.across; ++x) {
      const size_t block = static_cast<size_t>(y) * field_.across + x;
      const Vector half = field_.matches[block].half;
      const Vector moved = {half.x >> shrink.x, half.y >> shrink.y};
      const int left = 4 * (x * step_x - margin), top = 4 * (y * step_y - above);
      Blending how = blending_[block];
      how.weights = bell.data();
      const ptrdiff_t at = x * step_x;
      BlendWindow(a.At(left - moved.x, top - moved.y), b.At(left + moved.x, top + moved.y), stride,
                  how, sums_.data() + at, totals_.data() + at, row);
    }
    // The window's first row is `above` rows before the block; rows that no later block adds to are
    // done: those up to the first row of the next block's bell.
    const bool last = y + 1 == field_.down;
    const int first = y * step_y - above;
    const int done = last ? kWindow : step_y;
    for (int i = 0; i < done; ++i) {
      const int line = first + i;
      if (line < 0 || line >= to.height) continue;
      const float* sum = sums_.data() + i * row + margin;
      const float* total = totals_.data() + i * row + margin;
      Sample* samples = to.row<Sample>(line);
      for (int x = 0; x < to.width; ++x)
        samples[x] = static_cast<Sample>(
            std::min(static_cast<int>(0.5f * sum[x] / std::max(total[x], 1.0f) + 0.5f), most));
      const Sample *before = a.planes[0].at(0, line), *after = b.planes[0].at(0, line);
      const uint8_t* still =
          still_.data() + static_cast<ptrdiff_t>(line / (kStillCell >> shrink.y)) * still_across_;
      for (int x = 0; x < to.width; ++x)
        if (still[x / (kStillCell >> shrink.x)])
          samples[x] = static_cast<Sample>((before[x] + after[x] + 1) >> 1);
    }
    std::copy(sums_.begin() + done * row, sums_.end(), sums_.begin());
    std::fill(sums_.end() - done * row, sums_.end(), 0.0f);
    std::copy(totals_.begin() + done * row, totals_.end(), totals_.begin());
    std::fill(totals_.end() - done * row, totals_.end(), 0.0f);
  }
}

FramePtr Between::Make(const AVFrame& a, const AVFrame& b) {
  kind_ = Judge(a, b);
  FramePtr result;
  if (kind_ == PairKind::kMoved) {
    one_.Fill(PlaneOf(a, 0));
    other_.Fill(PlaneOf(b, 0));
    field_ = FindMotion(one_, other_);
    double error = 0;
    for (const Match& match : field_.matches) error += match.error;
    if (error / 256 / static_cast<double>(field_.matches.size()) > kNoMatch) kind_ = PairKind::kCut;
  }
  if (kind_ != PairKind::kMoved) {
    result.reset(av_frame_clone(&a));
    if (result == nullptr) throw std::bad_alloc();
    return result;
  }
  WeighBlocks();
  FindStill(one_.level(0), other_.level(0));
  result = NewFrameLike(a, a.width, a.height);
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(a.format));
  for (int plane = 0; plane < PlaneCount(a); ++plane) {
    const Plane from = PlaneOf(a, plane), to = PlaneOf(*result, plane);
    const bool chroma = plane == 1 || plane == 2;
    const Vector shrink = chroma ? Vector{desc->log2_chroma_w, desc->log2_chroma_h} : Vector{};
    if (from.depth > 8) {
      words_[0].Fill(from);
      words_[1].Fill(PlaneOf(b, plane));
      Blend(words_[0], words_[1], shrink, to);
    } else if (plane == 0) {
      Blend(one_.whole, other_.whole, shrink, to);
    } else {
      bytes_[0].Fill(from);
      bytes_[1].Fill(PlaneOf(b, plane));
      Blend(bytes_[0], bytes_[1], shrink, to);
    }
  }
  return result;
}

}  // namespace fettle::enhance
