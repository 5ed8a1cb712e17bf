// Simulated annealing over single changes of one parameter.
#include <algorithm>
#include <cmath>

#include "tuner/search/strategy.h"

namespace fettle::tuner {
namespace {

/// Temperatures are ratios of times: at first a step to twice the time is taken one time in three,
/// at the end one to 2 % more.
constexpr double kHot = 0.6, kCold = 0.02;
/// Rejected steps in a row after which the walk goes on from the best.
constexpr int kMaxRejected = 24;

class Annealing : public Strategy {
 public:
  explicit Annealing(const StrategyInput& input)
      : history_(*input.history),
        random_(input.seed),
        evaluations_(std::max<double>(1, static_cast<double>(input.evaluations))) {}

  std::optional<Point> Ask() override {
    if (!current_ && history_.best()) current_ = *history_.best();
    if (!current_) return RandomUnseen(history_, random_);
    if (rejected_ >= kMaxRejected) {
      current_ = *history_.best();
      rejected_ = 0;
    }
    std::vector<Point> neighbours = history_.space().Hamming(current_->point);
    if (neighbours.empty()) return RandomUnseen(history_, random_);
    return neighbours[random_.Below(neighbours.size())];
  }

  void Tell(const Evaluation& evaluation) override {
    if (evaluation.ms && Accepts(*evaluation.ms)) {
      current_ = evaluation;
      rejected_ = 0;
    } else {
      ++rejected_;
    }
  }

 private:
  bool Accepts(double ms) {
    if (!current_) return true;
    const double spent = std::min(1.0, static_cast<double>(history_.size()) / evaluations_);
    const double temperature = kHot * std::pow(kCold / kHot, spent);
    return random_.Uniform() < std::exp(-std::log(ms / *current_->ms) / temperature);
  }

  const History& history_;
  Random random_;
  double evaluations_;
  std::optional<Evaluation> current_;
  int rejected_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> MakeAnnealing(const StrategyInput& input) {
  return std::make_unique<Annealing>(input);
}

}  // namespace fettle::tuner
