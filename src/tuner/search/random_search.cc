// The two strategies that learn nothing: uniform draws, and all in order.
#include "tuner/search/strategy.h"

namespace fettle::tuner {
namespace {

class RandomSearch : public Strategy {
 public:
  explicit RandomSearch(const StrategyInput& input)
      : history_(*input.history), random_(input.seed) {}
  std::optional<Point> Ask() override { return RandomUnseen(history_, random_); }

 private:
  const History& history_;
  Random random_;
};

class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(const StrategyInput& input) : history_(*input.history) {}

  /// Gives up after kSteps without a valid point, so that a huge space whose conditions cannot be
  /// met ends too.
  std::optional<Point> Ask() override {
    constexpr int64_t kSteps = 20000000;
    const SearchSpace& space = history_.space();
    int64_t steps = kSteps;
    while (next_ < space.combinations()) {
      std::optional<Point> point = space.FirstValid(space.PointAt(next_), steps);
      next_ = point ? space.IndexOf(*point) + 1 : space.combinations();
      if (point && !history_.Contains(*point)) return point;
    }
    return std::nullopt;
  }

 private:
  const History& history_;
  uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> MakeRandomSearch(const StrategyInput& input) {
  return std::make_unique<RandomSearch>(input);
}
std::unique_ptr<Strategy> MakeExhaustive(const StrategyInput& input) {
  return std::make_unique<Exhaustive>(input);
}

}  // namespace fettle::tuner
