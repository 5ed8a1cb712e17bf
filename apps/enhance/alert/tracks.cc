#include "alert/tracks.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace fettle::enhance {
namespace {

/// Of the longer side: how far a thing moves from frame to frame.
constexpr float kReach = 1.5f;

float SquaredDistance(const Box& a, const Box& b) {
  const float across = a.x - b.x + (a.width - b.width) / 2;
  const float down = a.y - b.y + (a.height - b.height) / 2;
  return across * across + down * down;
}

}  // namespace

/// The nearest pairs first.
void Tracks::Match(const std::vector<Find>& finds) {
  struct Pair {
    float distance;
    size_t track, find;
  };
  std::vector<Pair> pairs;
  for (size_t i = 0; i < tracks_.size(); ++i)
    for (size_t k = 0; k < finds.size(); ++k) {
      const Box& last = tracks_[i].alert.sightings.back().find.box;
      if (AreNear(last, finds[k].box, kReach))
        pairs.push_back({SquaredDistance(last, finds[k].box), i, k});
    }
  std::ranges::sort(
      pairs, {}, [](const Pair& pair) { return std::tuple(pair.distance, pair.track, pair.find); });
  std::vector<bool> taken(finds.size());
  for (const Pair& pair : pairs) {
    Track& track = tracks_[pair.track];
    if (taken[pair.find] || (track.seen & 1) != 0) continue;
    taken[pair.find] = true;
    track.seen |= 1;
    track.alert.sightings.push_back({frame_, time_, finds[pair.find]});
  }
  for (size_t k = 0; k < finds.size(); ++k)
    if (!taken[k]) tracks_.push_back({{0, {{frame_, time_, finds[k]}}}, 1});
}

void Tracks::Cut() {
  for (Track& track : tracks_)
    if (track.alert.id > 0) ended_.push_back(std::move(track.alert));
  tracks_.clear();
}

void Tracks::Add(int64_t time, const std::vector<Find>& finds) {
  ++frame_;
  time_ = time;
  const uint32_t window = (uint32_t{1} << votes_.of) - 1;
  for (Track& track : tracks_) track.seen = track.seen << 1 & window;
  Match(finds);
  for (Track& track : tracks_) {
    if (track.alert.id == 0 && std::popcount(track.seen) >= votes_.seen)
      track.alert.id = ++last_id_;
    if (track.seen == 0 && track.alert.id > 0) ended_.push_back(std::move(track.alert));
  }
  std::erase_if(tracks_, [](const Track& track) { return track.seen == 0; });
}

std::vector<Box> Tracks::shown() const {
  std::vector<Box> boxes;
  for (const Track& track : tracks_)
    if (track.alert.id > 0 && std::popcount(track.seen) >= votes_.seen)
      boxes.push_back(track.alert.sightings.back().find.box);
  return boxes;
}

std::vector<Alert> Tracks::Finish() {
  Cut();
  std::ranges::sort(ended_, {}, &Alert::id);
  return std::exchange(ended_, {});
}

}  // namespace fettle::enhance
