#include "tuner/search/history.h"

#include <algorithm>
#include <cmath>

namespace fettle::tuner {
namespace {

/// The first unseen valid point from a random place on, around the end of the space.
std::optional<Point> ScanUnseen(const History& history, Random& random) {
  const SearchSpace& space = history.space();
  int64_t steps = 1000000;
  const uint64_t start = random.Below(space.combinations());
  uint64_t from = start;
  bool wrapped = false;
  while (steps > 0) {
    std::optional<Point> point = space.FirstValid(space.PointAt(from), steps);
    if (point && !history.Contains(*point)) return point;
    if (!point && steps <= 0) return std::nullopt;
    const uint64_t next = point ? space.IndexOf(*point) + 1 : space.combinations();
    const bool at_end = next == space.combinations();
    if (wrapped && (at_end || next > start)) return std::nullopt;
    wrapped = wrapped || at_end;
    from = at_end ? 0 : next;
  }
  return std::nullopt;
}

}  // namespace

const Evaluation* History::Find(const Point& point) const {
  const auto found = by_index_.find(space_.IndexOf(point));
  return found == by_index_.end() ? nullptr : &at(found->second);
}

const Evaluation* History::best() const {
  return fastest_.empty() ? nullptr : &at(fastest_.front());
}

void History::Add(Evaluation evaluation) {
  const int index = static_cast<int>(evaluations_.size());
  const bool added = by_index_.emplace(space_.IndexOf(evaluation.point), index).second;
  FETTLE_CHECK(added, "a configuration was measured twice");
  evaluations_.push_back(std::move(evaluation));
  if (!evaluations_.back().ms) return;
  const auto slower = [this](int a, int b) { return *at(a).ms < *at(b).ms; };
  fastest_.insert(std::upper_bound(fastest_.begin(), fastest_.end(), index, slower), index);
}

std::optional<Point> RandomUnseen(const History& history, Random& random) {
  constexpr int kDraws = 50;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::optional<Point> point = history.space().RandomValid(random);
    if (!point) break;
    if (!history.Contains(*point)) return point;
  }
  return ScanUnseen(history, random);
}

double Distance(const SearchSpace& space, const Point& a, const Point& b) {
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const int longest = std::max(1, space.extent(static_cast<int>(i)) - 1);
    distance += std::abs(static_cast<double>(a[i]) - b[i]) / longest;
  }
  return distance;
}

std::optional<Point> FarthestUnseen(const History& history, Random& random) {
  constexpr int kDraws = 32;
  std::optional<Point> farthest;
  double farthest_distance = -1;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::optional<Point> point = RandomUnseen(history, random);
    if (!point) break;
    double nearest = INFINITY;
    for (const Evaluation& evaluation : history.evaluations())
      nearest = std::min(nearest, Distance(history.space(), evaluation.point, *point));
    if (nearest > farthest_distance) {
      farthest_distance = nearest;
      farthest = std::move(point);
    }
  }
  return farthest;
}

}  // namespace fettle::tuner
