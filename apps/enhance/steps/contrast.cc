// contrast: luma through a curve that is steeper in the middle, as a table.
#include <algorithm>
#include <cmath>
#include <vector>

#include "picture/samples.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

/// Between black and white 3x^2 - 2x^3 by `strength`; what is beyond them stays.
std::vector<uint16_t> Curve(int depth, double strength, bool full_range) {
  const double one = 1 << (depth - 8);
  const double black = full_range ? 0 : 16 * one;
  const double white = full_range ? (1 << depth) - 1 : 235 * one;
  std::vector<uint16_t> table(size_t{1} << depth);
  for (size_t v = 0; v < table.size(); ++v) {
    const double x = (static_cast<double>(v) - black) / (white - black);
    const double steep = x <= 0 || x >= 1 ? x : x * x * (3 - 2 * x);
    const double y = x + strength * (steep - x);
    table[v] = static_cast<uint16_t>(std::lround(black + y * (white - black)));
  }
  return table;
}

class Contrast : public Step {
 public:
  explicit Contrast(const StepSetup& setup)
      : table_(Curve(av_pix_fmt_desc_get(setup.format)->comp[0].depth, setup.strength,
                     setup.full_range)) {}

  FramePtr Apply(FramePtr frame) override {
    CheckAv(av_frame_make_writable(frame.get()), "a frame");
    const Plane luma = PlaneOf(*frame, 0);
    ForSampleType(luma.depth, [&](auto sample) {
      using Sample = decltype(sample);
      for (int y = 0; y < luma.height; ++y) {
        Sample* row = luma.row<Sample>(y);
        for (int x = 0; x < luma.width; ++x)
          row[x] = static_cast<Sample>(table_[std::min<size_t>(row[x], table_.size() - 1)]);
      }
    });
    return frame;
  }

 private:
  std::vector<uint16_t> table_;
};

}  // namespace

std::unique_ptr<Step> MakeContrast(const StepSetup& setup) {
  return std::make_unique<Contrast>(setup);
}

}  // namespace fettle::enhance
