// Descents from several configurations in turns; those that lag are given up by halves.
#include <algorithm>

#include "tuner/search/strategy.h"

namespace fettle::tuner {
namespace {

/// A handful covers most devices: the best of one is the best of few others.
constexpr size_t kStarts = 5;
/// Measurements of each descent before the slower half is given up.
constexpr int kTurns = 6;

/// First improvement among single changes of one parameter, in random order.
struct Descent {
  Evaluation best;
  std::vector<Point> untried;
};

class Portfolio : public Strategy {
 public:
  explicit Portfolio(const StrategyInput& input) : history_(*input.history), random_(input.seed) {}

  std::optional<Point> Ask() override {
    if (first_) AdoptSeeds();
    first_ = false;
    while (true) {
      if (to_start_ > 0) return FarthestUnseen(history_, random_);
      if (descents_.empty()) {
        to_start_ = kStarts;
        continue;
      }
      if (turns_ >= kTurns * static_cast<int>(descents_.size())) Halve();
      turn_ = (turn_ + 1) % descents_.size();
      std::vector<Point>& untried = descents_[turn_].untried;
      std::erase_if(untried, [this](const Point& point) { return history_.Contains(point); });
      if (!untried.empty()) {
        ++turns_;
        Point next = std::move(untried.back());
        untried.pop_back();
        return next;
      }
      descents_.erase(descents_.begin() + static_cast<std::ptrdiff_t>(turn_));
    }
  }

  void Tell(const Evaluation& evaluation) override {
    if (to_start_ > 0) {
      --to_start_;
      if (evaluation.ms) Start(evaluation);
    } else if (evaluation.ms && *evaluation.ms < *descents_[turn_].best.ms) {
      descents_[turn_] = From(evaluation);
    }
  }

 private:
  /// Known good configurations take the place of spread ones.
  void AdoptSeeds() {
    for (int index : history_.fastest())
      if (descents_.size() < kStarts) Start(history_.at(index));
    if (descents_.empty()) to_start_ = kStarts;
  }
  void Start(const Evaluation& evaluation) {
    descents_.push_back(From(evaluation));
    turns_ = 0;
  }
  Descent From(const Evaluation& evaluation) {
    Descent descent{evaluation, history_.space().Hamming(evaluation.point)};
    random_.Shuffle(descent.untried);
    return descent;
  }
  void Halve() {
    std::stable_sort(descents_.begin(), descents_.end(),
                     [](const Descent& a, const Descent& b) { return *a.best.ms < *b.best.ms; });
    descents_.resize((descents_.size() + 1) / 2);
    turns_ = 0;
  }

  const History& history_;
  Random random_;
  std::vector<Descent> descents_;
  bool first_ = true;
  size_t to_start_ = 0;
  size_t turn_ = 0;
  int turns_ = 0;  // since descents were started or given up
};

}  // namespace

std::unique_ptr<Strategy> MakePortfolio(const StrategyInput& input) {
  return std::make_unique<Portfolio>(input);
}

}  // namespace fettle::tuner
