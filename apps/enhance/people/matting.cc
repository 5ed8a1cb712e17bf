#include "people/matting.h"

#include <algorithm>
#include <cmath>

#include "steps/strips.h"

namespace fettle::enhance {
namespace {

constexpr int kUnit = 16;
constexpr double kPlaces = 240 * 160;  // as in training
constexpr int kLongest = 512;
constexpr float kNoColour = 128.0f / 255;

/// Full range to the studio range that the network was trained on.
void ToStudio(std::vector<float>& values, float share, float offset) {
  for (float& value : values) value = value * share + offset;
}

void TakeMask(const float* shares, Map& map) {
  for (uint8_t& value : map.values)
    value = static_cast<uint8_t>(std::lround(255 * std::clamp(*shares++, 0.0f, 1.0f)));
}

}  // namespace

MatteSize MatteSizeOf(int width, int height) {
  const double scale = std::sqrt(kPlaces / width / height);
  const auto side = [&](int length) {
    const auto units = static_cast<int>(std::lround(std::min(length * scale, 1e4) / kUnit));
    return std::clamp(units * kUnit, kUnit, kLongest);
  };
  return {side(width), side(height)};
}

Matting::Prepared::Prepared(int width, int height)
    : width(width),
      height(height),
      session(Session::Create(LoadedModel(MattingNetwork()), {.threads = 1}).value()),
      luma(Tensor::Create(FETTLE_F32, {1, 1, height, width}).value()),
      chroma(Tensor::Create(FETTLE_F32, {1, 2, height / 2, width / 2}).value()),
      masks(Tensor::Create(FETTLE_F32, {1, 2, height, width}).value()) {
  session.SetInput("luma", luma).value();
  session.SetInput("chroma", chroma).value();
  session.SetOutput("masks", masks).value();
}

void Matting::ReadUpright(const Plane& plane, int width, int height) {
  const bool swapped = turns_ % 2 == 1;
  const int across = swapped ? height : width, down = swapped ? width : height;
  ReadAt(plane, across, down, plane_);
  if (turns_ != 0) plane_ = Turned(plane_, across, down, turns_);
}

void Matting::Read(const AVFrame& frame) {
  ReadUpright(PlaneOf(frame, 0), net_->width, net_->height);
  if (full_range_) ToStudio(plane_, 219.0f / 255, 16.0f / 255);
  std::ranges::copy(plane_, net_->luma.as<float>().begin());
  float* chroma = net_->chroma.as<float>().data();
  const int width = net_->width / 2, height = net_->height / 2;
  for (int index = 1; index <= 2; ++index) {
    if (PlaneCount(frame) < 3) {
      plane_.assign(static_cast<size_t>(width) * height, kNoColour);
    } else {
      ReadUpright(PlaneOf(frame, index), width, height);
      if (full_range_) ToStudio(plane_, 224.0f / 255, kNoColour * (1 - 224.0f / 255));
    }
    chroma = std::ranges::copy(plane_, chroma).out;
  }
}

Matte Matting::Of(const AVFrame& frame) {
  const bool swapped = turns_ % 2 == 1;
  const MatteSize size =
      MatteSizeOf(swapped ? frame.height : frame.width, swapped ? frame.width : frame.height);
  if (!net_ || net_->width != size.width || net_->height != size.height)
    net_.emplace(size.width, size.height);
  Read(frame);
  net_->session.Run().value();
  const size_t count = static_cast<size_t>(size.width) * size.height;
  const Map empty{size.width, size.height, std::vector<uint8_t>(count)};
  Matte matte{empty, empty};
  const float* shares = net_->masks.as<float>().data();
  TakeMask(shares, matte.person);
  TakeMask(shares + count, matte.head);
  return matte;
}

}  // namespace fettle::enhance
