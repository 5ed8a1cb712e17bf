// background-blur, privacy and privacy-head: the room around people blurred, or the people hidden.
#include "people/people.h"

#include <algorithm>
#include <cmath>

#include "people/blur.h"
#include "people/outline.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

/// The blur's sigma at a strength of 1, of the frame's longer side.
constexpr double kSigma = 1.0 / 40;

/// A frame of its own with the people of `frame`: those that its tracker found, else those that it
/// shows by itself, which the steps after this one get, too.
FramePtr WithPeople(const AVFrame& frame, Matting& matting, int turns, People& people) {
  FramePtr result = NewFrameLike(frame, frame.width, frame.height);
  CheckAv(av_frame_copy(result.get(), &frame), "a frame");
  if (BringsPeople(frame)) {
    people = PeopleOf(frame);
  } else {
    people = Laid(PeopleFilter().Next(matting.Of(frame), {}, true), turns);
    AttachPeople(*result, people);
  }
  return result;
}

bool IsChroma(int plane) { return plane == 1 || plane == 2; }

class BackgroundBlur : public Step {
 public:
  explicit BackgroundBlur(const StepSetup& setup)
      : strength_(setup.strength), turns_(setup.turns), matting_(setup.full_range, turns_) {}

  FramePtr Apply(FramePtr frame) override {
    if (strength_ <= 0) return frame;
    FramePtr result = WithPeople(*frame, matting_, turns_, people_);
    const double sigma = strength_ * kSigma * std::max(frame->width, frame->height);
    outline_.Fit(people_.person, PlaneOf(*frame, 0), alpha_);
    for (int index = 0; index < std::min(PlaneCount(*frame), 3); ++index) {
      const Plane plane = PlaneOf(*result, index);
      const double share = static_cast<double>(plane.width) / frame->width;
      const bool whole = plane.width == alpha_.width && plane.height == alpha_.height;
      if (!whole) Shrink(alpha_, plane.width, plane.height, small_);
      backdrop_.Blur(whole ? alpha_ : small_, sigma * share, plane);
    }
    return result;
  }

 private:
  const double strength_;
  const int turns_;
  Matting matting_;
  Outline outline_;
  Backdrop backdrop_;
  People people_;
  Map alpha_, small_;
};

class Privacy : public Step {
 public:
  Privacy(const StepSetup& setup, bool heads)
      : strength_(setup.strength),
        heads_(heads),
        turns_(setup.turns),
        matting_(setup.full_range, turns_) {}

  FramePtr Apply(FramePtr frame) override {
    FramePtr result = WithPeople(*frame, matting_, turns_, people_);
    const Map& cover = heads_ ? people_.heads : people_.cover;
    const int side = static_cast<int>(
        std::ceil(strength_ * BlockSide(cover, people_.heads, frame->width, frame->height)));
    const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame->format));
    for (int index = 0; index < std::min(PlaneCount(*frame), 3); ++index) {
      const Plane plane = PlaneOf(*result, index);
      Widen(cover, plane.width, plane.height, covered_);
      const int across = IsChroma(index) ? desc->log2_chroma_w : 0;
      const int down = IsChroma(index) ? desc->log2_chroma_h : 0;
      Mosaic(covered_, std::max(1, side >> across), std::max(1, side >> down), plane);
    }
    return result;
  }

 private:
  const double strength_;
  const bool heads_;
  const int turns_;
  Matting matting_;
  People people_;
  Map covered_;
};

}  // namespace

std::unique_ptr<Step> MakeBackgroundBlur(const StepSetup& setup) {
  return std::make_unique<BackgroundBlur>(setup);
}

std::unique_ptr<Step> MakePrivacy(const StepSetup& setup) {
  return std::make_unique<Privacy>(setup, false);
}

std::unique_ptr<Step> MakePrivacyHead(const StepSetup& setup) {
  return std::make_unique<Privacy>(setup, true);
}

}  // namespace fettle::enhance
