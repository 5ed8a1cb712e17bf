#include "alert/detector.h"

#include <algorithm>
#include <cmath>

#include "steps/strips.h"

namespace fettle::enhance {
namespace {

constexpr int kStride = 4;
constexpr float kSizeUnit = 16;
/// What large finds lack: things of that size resemble phones more often (docs/enhance.md has the
/// curve).
constexpr float kLessForAPixel = 0.025f, kSmall = 8, kLarge = 18;

/// The cell's centre surpasses or equals all eight neighbours; of equals the first one counts.
bool IsPeak(const float* heat, int row, int column, int rows, int columns) {
  const float here = heat[row * columns + column];
  for (int y = std::max(0, row - 1); y <= std::min(rows - 1, row + 1); ++y)
    for (int x = std::max(0, column - 1); x <= std::min(columns - 1, column + 1); ++x) {
      const float other = heat[y * columns + x];
      const bool sooner = y < row || (y == row && x < column);
      if (other > here || (sooner && other == here)) return false;
    }
  return true;
}

float ScoreOf(float logit, float longer_side) {
  const float less = kLessForAPixel * (std::clamp(longer_side, kSmall, kLarge) - kSmall);
  return 1 / (1 + std::exp(-logit)) - less;
}

/// The part of a box that lies within the frame.
Box Within(const Box& box, int width, int height) {
  const float left = std::clamp(box.x, 0.0f, static_cast<float>(width));
  const float top = std::clamp(box.y, 0.0f, static_cast<float>(height));
  const float right = std::clamp(box.x + box.width, left, static_cast<float>(width));
  const float bottom = std::clamp(box.y + box.height, top, static_cast<float>(height));
  return {left, top, right - left, bottom - top};
}

}  // namespace

void AppendPeaks(const float* values, const SliceGrid& grid, SliceGrid::Place place, float least,
                 std::vector<Find>& finds) {
  const int rows = grid.height / kStride, columns = grid.width / kStride;
  const ptrdiff_t plane = static_cast<ptrdiff_t>(rows) * columns;
  const float logit = std::log(least / (1 - least));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const float* cell = values + row * columns + column;
      if (!std::isfinite(*cell))
        throw Failure(kExitFailed, FETTLE_INTERNAL, "alert: the network's result is not finite");
      if (*cell < logit || !IsPeak(values, row, column, rows, columns)) continue;
      // No less than a pixel and no more than what is small.
      const float width = kSizeUnit * std::clamp(cell[plane], 0.1f, 4.0f);
      const float height = kSizeUnit * std::clamp(cell[2 * plane], 0.1f, 4.0f);
      const float score = ScoreOf(*cell, std::max(width, height));
      if (score < least) continue;
      const auto at = [](int index, float offset) {
        return kStride * (static_cast<float>(index) + 0.5f + std::clamp(offset, -1.0f, 1.0f));
      };
      const float x = static_cast<float>(place.x) + at(column, cell[3 * plane]);
      const float y = static_cast<float>(place.y) + at(row, cell[4 * plane]);
      finds.push_back({{x - width / 2, y - height / 2, width, height}, score});
    }
}

Detector::Detector(const Network& network, int width, int height, float least)
    : grid_(SlicesOf(width, height)),
      least_(least),
      session_(Session::Create(LoadedModel(network), {.threads = 1}).value()),
      luma_(Tensor::Create(FETTLE_F32, {1, 1, grid_.height, grid_.width}).value()),
      chroma_(Tensor::Create(FETTLE_F32, {1, 2, grid_.height / 2, grid_.width / 2}).value()),
      finds_(Tensor::Create(FETTLE_F32, {1, 5, grid_.height / kStride, grid_.width / kStride})
                 .value()) {
  session_.SetInput("luma", luma_).value();
  session_.SetInput("chroma", chroma_).value();
  session_.SetOutput("finds", finds_).value();
}

std::vector<Find> Detector::Look(const AVFrame& frame) {
  std::vector<Find> finds;
  for (const SliceGrid::Place place : grid_.places) {
    ReadLuma(frame, grid_, place, luma_.as<float>().data());
    ReadChroma(frame, grid_, place, chroma_.as<float>().data());
    session_.Run().value();
    AppendPeaks(finds_.as<float>().data(), grid_, place, least_, finds);
  }
  std::erase_if(finds, [&](Find& find) {
    find.box = Within(find.box, frame.width, frame.height);
    return find.box.width < 1 || find.box.height < 1;
  });
  return WithoutDoubles(std::move(finds));
}

}  // namespace fettle::enhance
