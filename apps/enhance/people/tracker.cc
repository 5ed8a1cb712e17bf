#include "people/tracker.h"

#include <algorithm>

#include "analysis/scene.h"

namespace fettle::enhance {

void PeopleTracker::Add(FramePtr frame, const Give& give) {
  const int scene = SceneOf(*frame).number;
  const bool cut = scene != scene_;
  scene_ = scene;
  Matte matte = matting_.Of(*frame);
  seen_.push_back({std::move(frame), std::move(matte), cut});
  if (seen_.size() > kAhead) GiveFirst(give);
}

void PeopleTracker::Finish(const Give& give) {
  while (!seen_.empty()) GiveFirst(give);
}

void PeopleTracker::GiveFirst(const Give& give) {
  Seen first = std::move(seen_.front());
  seen_.pop_front();
  std::vector<const Matte*> soon;
  for (const Seen& later : seen_) soon.push_back(&later.matte);
  const People people = filter_.Next(first.matte, soon, first.cut);
  with_people_ += std::ranges::any_of(people.cover.values, [](uint8_t value) { return value > 0; });
  held_ += filter_.lost();
  AttachPeople(*first.frame, Laid(people, turns_));
  give(std::move(first.frame));
}

}  // namespace fettle::enhance
