#include "alert/slices.h"

#include <algorithm>

namespace fettle::enhance {
namespace {

constexpr int kMostWidth = 352, kMostHeight = 224, kLeastSide = 32;

int UpTo4(int value) { return (value + 3) & ~3; }

/// Along one side: where slices begin, and how long they are.
struct Cuts {
  int size;
  std::vector<int> begins;
};

Cuts CutsOf(int length, int most) {
  const int whole = std::max(UpTo4(length), kLeastSide);
  if (whole <= most) return {whole, {0}};
  const int count = (whole - kSliceOverlap + most - kSliceOverlap - 1) / (most - kSliceOverlap);
  const int size = UpTo4((whole + (count - 1) * kSliceOverlap + count - 1) / count);
  Cuts cuts{size, {}};
  for (int i = 0; i < count; ++i) cuts.begins.push_back(i * (whole - size) / (count - 1) & ~3);
  return cuts;
}

}  // namespace

SliceGrid SlicesOf(int width, int height) {
  const Cuts across = CutsOf(width, kMostWidth), down = CutsOf(height, kMostHeight);
  SliceGrid grid{across.size, down.size, {}};
  for (const int y : down.begins)
    for (const int x : across.begins) grid.places.push_back({x, y});
  return grid;
}

void ReadLuma(const AVFrame& frame, const SliceGrid& grid, SliceGrid::Place place, float* values) {
  Plane luma = PlaneOf(frame, 0);
  const int height = luma.height, inside = std::min(grid.width, luma.width - place.x);
  luma.data += static_cast<ptrdiff_t>(place.x) * (luma.depth > 8 ? 2 : 1);
  luma.width = inside;
  for (int y = place.y; y < place.y + grid.height; ++y, values += grid.width) {
    ReadRows(luma, std::min(y, height - 1), 1, values);
    std::fill(values + inside, values + grid.width, values[inside - 1]);
  }
}

void ReadChroma(const AVFrame& frame, const SliceGrid& grid, SliceGrid::Place place,
                float* values) {
  const int columns = grid.width / 2, rows = grid.height / 2;
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (PlaneCount(frame) < 3) {
    std::fill_n(values, static_cast<ptrdiff_t>(2) * columns * rows, 128.0f / 255);
    return;
  }
  for (int index = 1; index <= 2; ++index) {
    const Plane plane = PlaneOf(frame, index);
    const float scale = 0.25f / WhiteOf(plane.depth);
    // The samples that a column or row of luma belongs to.
    const auto column = [&](int x) { return std::min(x >> desc->log2_chroma_w, plane.width - 1); };
    const auto row = [&](int y) { return std::min(y >> desc->log2_chroma_h, plane.height - 1); };
    ForSampleType(plane.depth, [&](auto sample) {
      for (int y = place.y; y < place.y + grid.height; y += 2) {
        const auto* upper = plane.row<decltype(sample)>(row(y));
        const auto* lower = plane.row<decltype(sample)>(row(y + 1));
        for (int x = place.x; x < place.x + grid.width; x += 2) {
          const int left = column(x), right = column(x + 1);
          *values++ =
              scale * static_cast<float>(upper[left] + upper[right] + lower[left] + lower[right]);
        }
      }
    });
  }
}

}  // namespace fettle::enhance
