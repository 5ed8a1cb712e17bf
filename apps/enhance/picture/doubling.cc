#include "picture/doubling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace fettle::enhance {
namespace {

constexpr int kTaps = 6;  // a radius of three

/// The six input samples of one output sample, from `first` (before or after it) on.
struct Phase {
  int first = 0;
  std::array<float, kTaps> taps = {};
};

double Lanczos3(double x) {
  if (x == 0) return 1;
  if (std::abs(x) >= 3) return 0;
  const double angle = std::numbers::pi * x;
  return 3 * std::sin(angle) * std::sin(angle / 3) / (angle * angle);
}

/// Of output samples 2k + `parity`, whose place is k + parity / 2 + shift.
Phase PhaseOf(int parity, double shift) {
  const double place = 0.5 * parity + shift;
  const int first = static_cast<int>(std::floor(place)) - 2;
  std::array<double, kTaps> weights = {};
  double sum = 0;
  for (int t = 0; t < kTaps; ++t) sum += weights[t] = Lanczos3(place - (first + t));
  Phase phase{.first = first};
  for (int t = 0; t < kTaps; ++t) phase.taps[t] = static_cast<float>(weights[t] / sum);
  return phase;
}

constexpr int kPad = 4;  // samples beyond each end of a row

}  // namespace

Shift ShiftOf(const AVFrame& frame, int plane) {
  if (plane == 0 || plane == 3) return {};
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const auto at_first = [](int halvings) { return -0.25 / (1 << halvings); };
  const AVChromaLocation place = frame.chroma_location;
  const bool centred =
      place == AVCHROMA_LOC_CENTER || place == AVCHROMA_LOC_TOP || place == AVCHROMA_LOC_BOTTOM;
  const bool top = place == AVCHROMA_LOC_TOPLEFT || place == AVCHROMA_LOC_TOP;
  return {.across = centred ? -0.25 : at_first(desc->log2_chroma_w),
          .down = top ? at_first(desc->log2_chroma_h) : -0.25};
}

void Doubling::FillRow(const Plane& from, int row, int width, Shift shift, float* to) {
  const Phase vertical = PhaseOf(row % 2, shift.down);
  const int last = from.height - 1;
  down_.assign(static_cast<size_t>(from.width + 2 * kPad), 0);
  float* middle = down_.data() + kPad;
  ForSampleType(from.depth, [&](auto sample) {
    for (int t = 0; t < kTaps; ++t) {
      const auto* line =
          from.row<decltype(sample)>(std::clamp(row / 2 + vertical.first + t, 0, last));
      const float tap = vertical.taps[t];
      for (int x = 0; x < from.width; ++x) middle[x] += tap * static_cast<float>(line[x]);
    }
  });
  std::fill(down_.begin(), down_.begin() + kPad, middle[0]);
  std::fill(down_.end() - kPad, down_.end(), middle[from.width - 1]);
  for (int parity = 0; parity < 2; ++parity) {
    const Phase across = PhaseOf(parity, shift.across);
    const float* begin = middle + across.first;
    const auto& taps = across.taps;
    const int count = (width + 1 - parity) / 2;
    for (int k = 0; k < count; ++k)
      to[2 * k + parity] = taps[0] * begin[k] + taps[1] * begin[k + 1] + taps[2] * begin[k + 2] +
                           taps[3] * begin[k + 3] + taps[4] * begin[k + 4] + taps[5] * begin[k + 5];
  }
}

void Doubling::Run(const Plane& from, int width, int height, Shift shift, float* to) {
  const float scale = 1 / WhiteOf(from.depth);
  for (int row = 0; row < height; ++row, to += width) {
    FillRow(from, row, width, shift, to);
    for (int x = 0; x < width; ++x) to[x] *= scale;
  }
}

void Doubling::Run(const Plane& from, const Plane& to, Shift shift) {
  rows_.resize(static_cast<size_t>(to.width));
  const auto most = static_cast<float>((1 << to.depth) - 1);
  ForSampleType(to.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int row = 0; row < to.height; ++row) {
      FillRow(from, row, to.width, shift, rows_.data());
      Sample* line = to.row<Sample>(row);
      for (int x = 0; x < to.width; ++x)
        line[x] =
            static_cast<Sample>(static_cast<int>(std::min(std::max(rows_[x] + 0.5f, 0.0f), most)));
    }
  });
}

}  // namespace fettle::enhance
