// deblock and denoise: luma by a network of models/ that is told how much there is to remove, strip
// by strip.
#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/scene.h"
#include "picture/level.h"
#include "steps/step.h"
#include "steps/strips.h"

namespace fettle::enhance {
namespace {

/// The networks' scale of levels: what 1.0 of their second input is.
constexpr double kMostLevel = 51;

/// What a step does to one frame: what its network is told, and how much of the answer is taken.
struct Amount {
  double level, share;
};

struct Restoring {
  std::string_view step;
  Amount (*amount)(const StepSetup&, const AVFrame&);
};

class Restore : public Step {
 public:
  Restore(const StepSetup& setup, const Restoring& what)
      : setup_(setup),
        what_(what),
        network_(*FindNetwork(what.step, setup.network, DepthOf(setup))),
        width_(Whole(setup.width, network_.block)),
        height_(Whole(setup.height, network_.block)),
        rows_(StripRows(width_, height_, network_)),
        strips_(StripsOf(height_, rows_, network_.halo)),
        session_(Session::Create(LoadedModel(network_), {.threads = 1}).value()),
        input_(Tensor::Create(FETTLE_F32, {1, 1, rows_, width_}).value()),
        level_(Tensor::Create(FETTLE_F32, {1, 1, rows_ / network_.block, width_ / network_.block})
                   .value()),
        output_(Tensor::Create(FETTLE_F32, {1, 1, rows_, width_}).value()) {
    session_.SetInput("luma", input_).value();
    session_.SetInput("level", level_).value();
    session_.SetOutput("restored", output_).value();
  }

  FramePtr Apply(FramePtr frame) override {
    const Amount amount = what_.amount(setup_, *frame);
    if (amount.share <= 0) return frame;
    share_ = static_cast<float>(amount.share);
    const double level = std::clamp(amount.level, 0.0, kMostLevel) / kMostLevel;
    std::ranges::fill(level_.as<float>(), static_cast<float>(level));
    FramePtr result = NewFrameLike(*frame, frame->width, frame->height);
    CheckAv(av_frame_copy(result.get(), frame.get()), "a frame");
    const Plane from = PlaneOf(*frame, 0), to = PlaneOf(*result, 0);
    double total = 0;
    for (const Strip& strip : strips_) total += Run(strip, from, to);
    CheckMean(what_.step, total / from.width / from.height, from);
    return result;
  }

 private:
  static int DepthOf(const StepSetup& setup) {
    return av_pix_fmt_desc_get(setup.format)->comp[0].depth;
  }

  static int Whole(int side, int block) { return (side + block - 1) / block * block; }

  /// The last column and row are repeated, as the network takes whole blocks.
  void Read(const Plane& from, int first) {
    float* row = input_.as<float>().data();
    for (int y = first; y < first + rows_; ++y, row += width_) {
      ReadRows(from, std::min(y, from.height - 1), 1, row);
      std::fill(row + from.width, row + width_, row[from.width - 1]);
    }
  }

  /// Returns the sum of the rows that are kept.
  double Run(const Strip& strip, const Plane& from, const Plane& to) {
    Read(from, strip.first);
    session_.Run().value();
    const ptrdiff_t skipped = static_cast<ptrdiff_t>(strip.begin - strip.first) * width_;
    const float* before = input_.as<float>().data() + skipped;
    float* after = output_.as<float>().data() + skipped;
    double total = 0;
    for (int y = strip.begin; y < std::min(strip.end, from.height); ++y) {
      for (int x = 0; share_ < 1 && x < width_; ++x)
        after[x] = before[x] + share_ * (after[x] - before[x]);
      total += WriteRows(after, y, 1, to);
      before += width_;
      after += width_;
    }
    return total;
  }

  const StepSetup setup_;
  const Restoring what_;
  const Network network_;
  const int width_, height_;  // of whole blocks
  const int rows_;
  const std::vector<Strip> strips_;
  Session session_;
  Tensor input_, level_, output_;
  float share_ = 1;  // of the frame in hand
};

Amount Coding(const StepSetup& setup, const AVFrame& frame) {
  const double own = setup.own_levels ? LevelOf(frame) : -1;
  const double level = own >= 0 ? own : setup.level;
  return {level, setup.strength * DeblockShare(level)};
}

Amount Noise(const StepSetup& setup, const AVFrame& frame) {
  const bool hidden = setup.own_noise && setup.own_levels && LevelOf(frame) >= kCodingHidesNoise;
  const double sigma = hidden ? 0 : setup.own_noise ? SceneOf(frame).noise : setup.noise;
  return {sigma, setup.strength * DenoiseShare(sigma)};
}

}  // namespace

double DeblockShare(double level) { return std::clamp((level - 24) / 4, 0.0, 1.0); }
double DenoiseShare(double sigma) { return std::clamp(sigma - 0.5, 0.0, 1.0); }

std::unique_ptr<Step> MakeDeblock(const StepSetup& setup) {
  return std::make_unique<Restore>(setup, Restoring{"deblock", Coding});
}

std::unique_ptr<Step> MakeDenoise(const StepSetup& setup) {
  return std::make_unique<Restore>(setup, Restoring{"denoise", Noise});
}

}  // namespace fettle::enhance
