// Sampling several contenders in rounds.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tuner/measure/sampling.h"

namespace fettle::tuner {
namespace {

constexpr int kFirstLook = 8;
constexpr double kNextRound = 1.4;
/// Contenders this close count as equally fast.
constexpr double kEqual = 0.01;

/// Logarithms of times: contenders differ by a constant each, rounds by another.
class Rounds {
 public:
  explicit Rounds(size_t contenders) : logs_(contenders), racing_(contenders) {
    std::iota(racing_.begin(), racing_.end(), size_t{0});
  }

  const std::vector<size_t>& racing() const { return racing_; }
  size_t count() const { return logs_[racing_[0]].size(); }
  void Add(size_t contender, double us) { logs_[contender].push_back(std::log(us)); }

  /// Drops those that are slower with confidence. True: there is nothing more to find out.
  bool Settle() {
    const size_t leader = Leader();
    std::vector<size_t> open, settled;
    for (size_t contender : racing_) {
      if (contender == leader) continue;
      const Summary behind = Behind(contender, leader);
      const bool slower = behind.low > 0, equal = behind.low > -kEqual && behind.high < kEqual;
      (slower || equal ? settled : open).push_back(contender);
    }
    if (open.empty()) return true;
    std::vector<size_t> racing{leader};
    racing.insert(racing.end(), open.begin(), open.end());
    racing_ = std::move(racing);
    return false;
  }

  /// Times at the speed of an average round.
  std::vector<Summary> Finish() const {
    std::vector<double> effects(count());
    double mean = 0;
    for (size_t round = 0; round < effects.size(); ++round) {
      for (size_t contender : racing_) effects[round] += logs_[contender][round];
      effects[round] /= static_cast<double>(racing_.size());
      mean += effects[round] / static_cast<double>(effects.size());
    }
    std::vector<Summary> summaries;
    for (size_t contender = 0; contender < logs_.size(); ++contender)
      summaries.push_back(Adjusted(contender, effects, mean));
    return summaries;
  }

 private:
  size_t Leader() const {
    size_t leader = racing_[0];
    double best = 0;
    for (size_t contender : racing_) {
      const double median = Median(logs_[contender]);
      if (contender != racing_[0] && median >= best) continue;
      best = median;
      leader = contender;
    }
    return leader;
  }

  /// Of the ratios of two contenders within their rounds.
  Summary Behind(size_t contender, size_t leader) const {
    std::vector<double> ratios;
    for (size_t round = 0; round < count(); ++round)
      ratios.push_back(logs_[contender][round] - logs_[leader][round]);
    return Summarise(ratios, kSure99);
  }

  Summary Adjusted(size_t contender, const std::vector<double>& effects, double mean) const {
    const std::vector<double>& logs = logs_[contender];
    std::vector<double> adjusted;
    for (size_t round = 0; round < logs.size(); ++round)
      adjusted.push_back(logs[round] - effects[round] + mean);
    Summary summary = Summarise(adjusted);
    // The effect of a round holds a part of each racer's own noise.
    const auto racers = static_cast<double>(racing_.size());
    const bool raced = std::find(racing_.begin(), racing_.end(), contender) != racing_.end();
    const double widen = raced && racers > 1 ? std::sqrt(racers / (racers - 1)) : 1;
    const double median = summary.median;
    summary.median = std::exp(median);
    summary.low = std::exp(median + widen * (summary.low - median));
    summary.high = std::exp(median + widen * (summary.high - median));
    summary.mad *= widen * summary.median;
    return summary;
  }

  std::vector<std::vector<double>> logs_;
  std::vector<size_t> racing_;
};

}  // namespace

Result<std::vector<Summary>> SampleInRounds(std::span<const Sample> contenders,
                                            const MeasureOptions& options,
                                            const std::function<int64_t()>& now_ns) {
  const int64_t deadline = now_ns() + static_cast<int64_t>(options.final_ms * 1e6);
  for (const Sample& sample : contenders) RETURN_IF_ERROR(sample().status());
  Rounds rounds(contenders.size());
  std::mt19937_64 random(options.seed);
  int next_look = kFirstLook;
  for (int round = 1;; ++round) {
    std::vector<size_t> order = rounds.racing();
    std::shuffle(order.begin(), order.end(), random);
    for (size_t contender : order) {
      ASSIGN_OR_RETURN(const double us, contenders[contender]());
      rounds.Add(contender, std::max(us, 1e-3));
    }
    const bool late = now_ns() >= deadline;
    if (round < next_look && !late) continue;
    next_look = static_cast<int>(std::ceil(round * kNextRound));
    if (late || rounds.Settle()) return rounds.Finish();
  }
}

}  // namespace fettle::tuner
