// Follows the people of a video from frame to frame.
#pragma once

#include <deque>
#include <functional>

#include "people/people.h"

namespace fettle::enhance {

/// Takes the frames of a video in their order, each with its scene, and gives them back with their
/// people, kAhead frames later. It has to see all frames from the first one on: then the same
/// frames give the same people, wherever a job goes on. Belongs to one thread.
class PeopleTracker {
 public:
  static constexpr size_t kAhead = 4;
  using Give = std::function<void(FramePtr)>;

  /// As Matting takes them.
  PeopleTracker(bool full_range, int turns) : matting_(full_range, turns), turns_(turns) {}
  void Add(FramePtr frame, const Give& give);
  /// Gives those that are left.
  void Finish(const Give& give);

  /// Of the frames that were given.
  int64_t frames_with_people() const { return with_people_; }
  int64_t frames_held() const { return held_; }

 private:
  struct Seen {
    FramePtr frame;
    Matte matte;
    bool cut;
  };
  void GiveFirst(const Give& give);

  Matting matting_;
  const int turns_;
  PeopleFilter filter_;
  std::deque<Seen> seen_;
  int scene_ = -1;
  int64_t with_people_ = 0, held_ = 0;
};

}  // namespace fettle::enhance
