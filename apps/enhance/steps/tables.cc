// lowlight, clarity, contrast, sharpen and deepen: frames through tables that a formula makes for
// their scene.
#include <cmath>

#include "av/pixels.h"
#include "steps/step.h"
#include "tables/formulas.h"
#include "tables/local.h"

namespace fettle::enhance {
namespace {

class TableStep : public Step {
 public:
  TableStep(const StepSetup& setup, Formula formula, int depth)
      : formula_(formula),
        strength_(setup.strength),
        dither_(setup.dither),
        format_(WithDepth(setup.format, depth)),
        range_(setup.full_range ? LumaRange{0, 255} : LumaRange{}) {}

  FramePtr Apply(FramePtr frame) override {
    Fit(SceneOf(*frame));
    const bool deeper = frame->format != format_;
    if (!tables_.has_tone && !tables_.has_detail && !deeper) return frame;
    FramePtr result = NewFrame(format_, frame->width, frame->height);
    CheckAv(av_frame_copy_props(result.get(), frame.get()), "a frame's properties");
    local_.Run(tables_, *frame, *result, dither_);
    return result;
  }

 private:
  /// Tables are made again where the scene's figures, as far as they count, are others.
  void Fit(Scene scene) {
    const auto whole = [](double level) { return std::round(2 * level) / 2; };
    scene = {.light = whole(scene.light), .black = whole(scene.black), .white = whole(scene.white)};
    if (made_ && scene.light == scene_.light && scene.black == scene_.black &&
        scene.white == scene_.white)
      return;
    tables_ = formula_(scene, range_, strength_);
    scene_ = scene;
    made_ = true;
  }

  const Formula formula_;
  const double strength_;
  const bool dither_;
  const AVPixelFormat format_;
  const LumaRange range_;
  LocalTables local_;
  Tables tables_;
  Scene scene_;
  bool made_ = false;
};

template <Formula formula, int depth = 0>
std::unique_ptr<Step> Make(const StepSetup& setup) {
  return std::make_unique<TableStep>(setup, formula, depth);
}

}  // namespace

std::unique_ptr<Step> MakeLowLight(const StepSetup& setup) { return Make<LowLightTables>(setup); }
std::unique_ptr<Step> MakeClarity(const StepSetup& setup) { return Make<ClarityTables>(setup); }
std::unique_ptr<Step> MakeContrast(const StepSetup& setup) { return Make<ContrastTables>(setup); }
std::unique_ptr<Step> MakeSharpen(const StepSetup& setup) { return Make<SharpenTables>(setup); }
std::unique_ptr<Step> MakeDeepen(const StepSetup& setup) { return Make<DeepenTables, 10>(setup); }

}  // namespace fettle::enhance
