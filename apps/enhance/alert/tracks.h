// Turns the finds of consecutive frames into alerts: things that are seen often enough.
#pragma once

#include <cstdint>
#include <vector>

#include "alert/find.h"

namespace fettle::enhance {

/// A thing is reported once it was seen in `seen` of `of` frames in a row.
struct Votes {
  int seen = 15, of = 30;
};

/// A find with its frame's number and time, in the caller's time base.
struct Sighting {
  int64_t frame = 0, time = 0;
  Find find;
};

/// A thing that passed the vote, from its first sighting on.
struct Alert {
  int id = 0;  // from 1 on, in the order of passing
  std::vector<Sighting> sightings;
};

/// Each find belongs to the thing that was last seen nearest to it, within one and a half of its
/// longer side; other finds begin a thing. A thing that is missed in `of` frames in a row has
/// ended. Memory grows only with the alerts. Belongs to one thread.
class Tracks {
 public:
  explicit Tracks(Votes votes) : votes_(votes) {}

  /// A scene ends before the next frame: its things end, and votes begin again.
  void Cut();
  /// The next frame's.
  void Add(int64_t time, const std::vector<Find>& finds);
  /// The places of things that passed the vote and are still seen in so many of the last frames.
  std::vector<Box> shown() const;
  /// All alerts in the order of their ids; ends those that are open.
  std::vector<Alert> Finish();

 private:
  struct Track {
    Alert alert;
    uint32_t seen = 0;  // a bit for each of the last frames, the newest lowest
  };
  void Match(const std::vector<Find>& finds);

  const Votes votes_;
  int64_t frame_ = -1, time_ = 0;
  int last_id_ = 0;
  std::vector<Track> tracks_;
  std::vector<Alert> ended_;
};

}  // namespace fettle::enhance
