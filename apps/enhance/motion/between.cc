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

Between::Grid::Grid(Vector shrink_by, int across)
    : shrink(shrink_by),
      step{kStep >> shrink.x, kStep >> shrink.y},
      before{(kWindow - step.x) / 2, (kWindow - step.y) / 2},
      row(across * step.x + 2 * kWindow) {}

template <typename Sample>
void Between::AddBlocks(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b,
                        const Grid& grid, const uint8_t* bell, int y) {
  const ptrdiff_t stride = a.planes[0].stride;
  for (int x = 0; x < field_.across; ++x) {
    const size_t block = static_cast<size_t>(y) * field_.across + x;
    const Vector half = field_.matches[block].half;
    const Vector moved = {half.x >> grid.shrink.x, half.y >> grid.shrink.y};
    const int left = 4 * (x * grid.step.x - grid.before.x);
    const int top = 4 * (y * grid.step.y - grid.before.y);
    Blending how = blending_[block];
    how.weights = bell;
    const ptrdiff_t at = x * grid.step.x;
    BlendWindow(a.At(left - moved.x, top - moved.y), b.At(left + moved.x, top + moved.y), stride,
                how, sums_.data() + at, totals_.data() + at, grid.row);
  }
}

template <typename Sample>
void Between::FinishLine(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b,
                         const Grid& grid, const Plane& to, int line, ptrdiff_t at) const {
  const int most = (1 << to.depth) - 1;
  const float *sum = sums_.data() + at, *total = totals_.data() + at;
  Sample* samples = to.row<Sample>(line);
  for (int x = 0; x < to.width; ++x)
    samples[x] = static_cast<Sample>(
        std::min(static_cast<int>(0.5f * sum[x] / std::max(total[x], 1.0f) + 0.5f), most));
  const Sample *before = a.planes[0].at(0, line), *after = b.planes[0].at(0, line);
  const uint8_t* still =
      still_.data() + static_cast<ptrdiff_t>(line / (kStillCell >> grid.shrink.y)) * still_across_;
  for (int x = 0; x < to.width; ++x)
    if (still[x / (kStillCell >> grid.shrink.x)])
      samples[x] = static_cast<Sample>((before[x] + after[x] + 1) >> 1);
}

template <typename Sample>
void Between::Blend(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b, Vector shrink,
                    const Plane& to) {
  const Grid grid(shrink, field_.across);
  const auto bell = Bell(2 * grid.step.x, 2 * grid.step.y);
  sums_.assign(static_cast<size_t>(grid.row * kWindow), 0);
  totals_.assign(sums_.size(), 0);
  for (int y = 0; y < field_.down; ++y) {
    AddBlocks(a, b, grid, bell.data(), y);
    // The window's first row lies before the block; rows that no later block adds to are done:
    // those up to the first row of the next block's bell.
    const int done = y + 1 == field_.down ? kWindow : grid.step.y;
    for (int i = 0; i < done; ++i) {
      const int line = y * grid.step.y - grid.before.y + i;
      if (line >= 0 && line < to.height)
        FinishLine(a, b, grid, to, line, i * grid.row + grid.before.x);
    }
    for (std::vector<float>* rows : {&sums_, &totals_}) {
      std::copy(rows->begin() + done * grid.row, rows->end(), rows->begin());
      std::fill(rows->end() - done * grid.row, rows->end(), 0.0f);
    }
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
