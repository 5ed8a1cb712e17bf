// deinterlace: the stage that decodes does it, in the order of frames (picture/deinterlacer.h);
// frames that come to the step itself are alone, as those of trials, of pictures and of the
// library.
#include "picture/deinterlacer.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

bool TakesAll(double strength) { return strength >= 2; }

class Deinterlace : public Step {
 public:
  explicit Deinterlace(const StepSetup& setup)
      : done_(setup.whole_frames), all_(TakesAll(setup.strength)) {}
  FramePtr Apply(FramePtr frame) override {
    const bool makes = !done_ && (all_ || IsInterlaced(*frame));
    return makes ? DeinterlacedAlone(*frame) : std::move(frame);
  }

 private:
  const bool done_, all_;
};

}  // namespace

std::unique_ptr<Step> MakeDeinterlace(const StepSetup& setup) {
  return std::make_unique<Deinterlace>(setup);
}

std::optional<Deinterlacer> DeinterlacerOf(const std::vector<ChainLink>& chain) {
  const ChainLink* link = FindLink(chain, MakeDeinterlace);
  if (link == nullptr) return std::nullopt;
  return std::optional<Deinterlacer>(std::in_place, TakesAll(link->strength));
}

}  // namespace fettle::enhance
