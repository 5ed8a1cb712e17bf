// sharpen: what a pixel differs from its neighbourhood by is looked up in a table.
#include <algorithm>
#include <cmath>
#include <vector>

#include "picture/samples.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

/// Differences up to here (of 1.0) are taken for noise, and the change is never larger than the
/// second, so that edges get no halo.
constexpr double kNoise = 1.5 / 255, kMostChange = 12.0 / 255;

/// The change for each difference -(2^depth - 1) .. 2^depth - 1.
std::vector<int> ChangeTable(int depth, double strength) {
  const int most = (1 << depth) - 1;
  const double white = WhiteOf(depth);
  std::vector<int> table(2 * static_cast<size_t>(most) + 1);
  for (int d = -most; d <= most; ++d) {
    const double size = std::abs(d) / white;
    const double change = std::min(strength * std::max(0.0, size - kNoise), kMostChange);
    table[static_cast<size_t>(d + most)] =
        static_cast<int>(std::lround(std::copysign(change * white, d)));
  }
  return table;
}

class Sharpen : public Step {
 public:
  explicit Sharpen(const StepSetup& setup)
      : table_(ChangeTable(av_pix_fmt_desc_get(setup.format)->comp[0].depth, setup.strength)) {}

  FramePtr Apply(FramePtr frame) override {
    FramePtr result = NewFrameLike(*frame, frame->width, frame->height);
    CheckAv(av_frame_copy(result.get(), frame.get()), "a frame");
    const Plane from = PlaneOf(*frame, 0), to = PlaneOf(*result, 0);
    ForSampleType(from.depth, [&](auto sample) { Rows<decltype(sample)>(from, to); });
    return result;
  }

 private:
  /// The neighbourhood is the binomial 3x3: 1 2 1 each way.
  template <typename Sample>
  void Rows(const Plane& from, const Plane& to) {
    const int most = (1 << from.depth) - 1, width = from.width;
    const int* table = table_.data() + most;
    sums_.resize(static_cast<size_t>(width) + 2);
    for (int y = 0; y < from.height; ++y) {
      const Sample* above = from.row<Sample>(std::max(y - 1, 0));
      const Sample* here = from.row<Sample>(y);
      const Sample* below = from.row<Sample>(std::min(y + 1, from.height - 1));
      int* sums = sums_.data() + 1;
      for (int x = 0; x < width; ++x) sums[x] = above[x] + 2 * here[x] + below[x];
      sums[-1] = sums[0];
      sums[width] = sums[width - 1];
      Sample* line = to.row<Sample>(y);
      for (int x = 0; x < width; ++x) {
        const int mean = (sums[x - 1] + 2 * sums[x] + sums[x + 1] + 8) >> 4;
        const int change = table[std::clamp(here[x] - mean, -most, most)];
        line[x] = static_cast<Sample>(std::clamp(here[x] + change, 0, most));
      }
    }
  }

  std::vector<int> table_, sums_;
};

}  // namespace

std::unique_ptr<Step> MakeSharpen(const StepSetup& setup) {
  return std::make_unique<Sharpen>(setup);
}

}  // namespace fettle::enhance
