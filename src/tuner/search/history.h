// What a search has measured so far.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "tuner/search/space.h"

namespace fettle::tuner {

/// One measurement. No time: the configuration failed to build or to run, or was wrong.
struct Evaluation {
  Point point;
  std::optional<double> ms;
};

/// Evaluations in the order in which they were made, each point once.
class History {
 public:
  explicit History(SearchSpace space) : space_(std::move(space)) {}

  const SearchSpace& space() const { return space_; }
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  size_t size() const { return evaluations_.size(); }
  bool Contains(const Point& point) const { return Find(point) != nullptr; }
  /// Null where the point was not measured.
  const Evaluation* Find(const Point& point) const;
  /// The fastest, the earliest of equals; null where none has a time.
  const Evaluation* best() const;
  /// Those that have a time, fastest first.
  const std::vector<int>& fastest() const { return fastest_; }
  const Evaluation& at(int index) const { return evaluations_[index]; }

  /// The point must not be there yet.
  void Add(Evaluation evaluation);

 private:
  SearchSpace space_;
  std::vector<Evaluation> evaluations_;
  std::unordered_map<uint64_t, int> by_index_;
  std::vector<int> fastest_;
};

/// A valid point that was not measured; none where there is none, or none within a bounded effort.
std::optional<Point> RandomUnseen(const History& history, Random& random);

/// How many positions two points are apart, each parameter's as a share of its longest way.
double Distance(const SearchSpace& space, const Point& a, const Point& b);

/// Of random unseen points the one that is farthest from all measured ones.
std::optional<Point> FarthestUnseen(const History& history, Random& random);

}  // namespace fettle::tuner
