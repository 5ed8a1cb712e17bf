// What a frame brings along of the people in it, from the tracker to the steps.
#pragma once

#include "people/hold.h"
#include "people/matting.h"

namespace fettle::enhance {

/// Maps of one size, over the whole frame.
struct People {
  Map person;  // shares, steadied over time
  Map cover;   // 255 where whole persons are hidden, else 0
  Map heads;   // the same for heads
};

/// Makes of one frame's matte, upright, and of the frames shortly after it, what that frame brings.
/// Belongs to one thread, and to one video.
class PeopleFilter {
 public:
  /// `now` is the frame's own matte, `soon` those of the frames after it that are looked at.
  People Next(const Matte& now, const std::vector<const Matte*>& soon, bool cut);
  /// Whether the last frame's covers are held because people were lost.
  bool lost() const { return cover_.lost() || heads_.lost(); }

 private:
  std::vector<float> person_;
  Hold cover_, heads_;
};

/// As the maps of a frame that is shown turned clockwise by so many quarters lie in it.
People Laid(const People& upright, int turns);

/// The frame's properties get `people`; its scene stays.
void AttachPeople(AVFrame& frame, const People& people);
/// Whether the frame brings people, and who they are: all fields empty where it does not.
bool BringsPeople(const AVFrame& frame);
People PeopleOf(const AVFrame& frame);
/// `made` stands between frames that bring people: it gets all that either covers.
void AttachBoth(AVFrame& made, const AVFrame& a, const AVFrame& b);

}  // namespace fettle::enhance
