// Differential evolution (Storn and Price 1997), its scheme "best/1/bin", on positions rounded to
// the lists of values.
#include <algorithm>

#include "tuner/search/strategy.h"

namespace fettle::tuner {
namespace {

constexpr size_t kMembers = 10;
/// The scale of differences, and how often a trial takes a value from them: in the middle of what
/// Storn and Price advise.
constexpr double kScale = 0.7, kCrossing = 0.8;

class DifferentialEvolution : public Strategy {
 public:
  explicit DifferentialEvolution(const StrategyInput& input)
      : history_(*input.history), random_(input.seed) {}

  /// The first members are the best seeds, then draws; from then on a trial for each in turn.
  std::optional<Point> Ask() override {
    if (members_.empty()) AdoptSeeds();
    if (members_.size() < kMembers) {
      const std::optional<Point> point = RandomUnseen(history_, random_);
      if (point) {
        members_.push_back({*point, std::nullopt});
        turn_ = members_.size() - 1;
      }
      return point;
    }
    turn_ = (turn_ + 1) % kMembers;
    return UnseenNear(Trial(members_[turn_].point), history_, random_);
  }

  /// The trial takes its member's place where it is no slower.
  void Tell(const Evaluation& evaluation) override {
    Member& member = members_[turn_];
    if (evaluation.ms && (!member.ms || *evaluation.ms <= *member.ms))
      member = {evaluation.point, evaluation.ms};
  }

 private:
  struct Member {
    Point point;
    std::optional<double> ms;
  };

  void AdoptSeeds() {
    for (int index : history_.fastest()) {
      if (members_.size() == kMembers / 2) break;
      members_.push_back({history_.at(index).point, history_.at(index).ms});
    }
  }

  /// The best member, moved along the difference of two others, crossed with `parent`.
  Point Trial(const Point& parent) {
    const auto is_faster = [](const Member& a, const Member& b) {
      return a.ms && (!b.ms || *a.ms < *b.ms);
    };
    const Point& best = std::min_element(members_.begin(), members_.end(), is_faster)->point;
    const Point& one = members_[random_.Below(kMembers)].point;
    const Point& other = members_[random_.Below(kMembers)].point;
    const size_t always = random_.Below(parent.size());
    Point trial = parent;
    for (size_t i = 0; i < trial.size(); ++i) {
      if (i != always && random_.Uniform() > kCrossing) continue;
      const double last = history_.space().extent(static_cast<int>(i)) - 1;
      const double moved = best[i] + kScale * (one[i] - other[i]);
      trial[i] = static_cast<int>(std::clamp(moved, 0.0, last) + 0.5);
    }
    return trial;
  }

  const History& history_;
  Random random_;
  std::vector<Member> members_;
  size_t turn_ = kMembers - 1;
};

}  // namespace

std::unique_ptr<Strategy> MakeDifferentialEvolution(const StrategyInput& input) {
  return std::make_unique<DifferentialEvolution>(input);
}

}  // namespace fettle::tuner
