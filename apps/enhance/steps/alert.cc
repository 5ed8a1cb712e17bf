// alert: frames as they are, with what a detector of small phones found in them.
#include "alert/detector.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

class AlertStep : public Step {
 public:
  explicit AlertStep(const StepSetup& setup)
      : scale_(static_cast<float>(setup.scale)),
        detector_(
            *FindNetwork("alert", setup.network, av_pix_fmt_desc_get(setup.format)->comp[0].depth),
            setup.width, setup.height, static_cast<float>(setup.least_score)) {}

  FramePtr Apply(FramePtr frame) override {
    std::vector<Find> finds = detector_.Look(*frame);
    for (auto& [box, score] : finds)
      box = {box.x / scale_, box.y / scale_, box.width / scale_, box.height / scale_};
    SetFinds(*frame, finds);
    return frame;
  }

 private:
  const float scale_;  // of the frame beside the input's
  Detector detector_;
};

}  // namespace

std::unique_ptr<Step> MakeAlert(const StepSetup& setup) {
  return std::make_unique<AlertStep>(setup);
}

}  // namespace fettle::enhance
