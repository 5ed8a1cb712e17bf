#include "tuner/network/gate.h"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tuner/measure/interruptions.h"
#include "tuner/measure/statistics.h"

namespace fettle::tuner {
namespace {

/// The interval is looked at again after this many times the pairs: the fewer looks, the fewer
/// chances of a wrong one.
constexpr double kNextPairs = 1.4;

using Run = std::function<Status()>;

/// Times of runs in pairs, in the order of the pairs.
struct Pairs {
  std::vector<double> incumbent_us, challenger_us;
  int disturbed = 0;  // runs

  /// Of the logarithms of challenger / incumbent.
  Summary Ratios() const {
    std::vector<double> logs;
    for (size_t i = 0; i < incumbent_us.size(); ++i)
      logs.push_back(std::log(challenger_us[i] / incumbent_us[i]));
    return Summarise(logs, kSure99);
  }
};

Result<double> TimeUs(const Run& run, const std::function<int64_t()>& now_ns) {
  const int64_t begin = now_ns();
  RETURN_IF_ERROR(run());
  return std::max(static_cast<double>(now_ns() - begin), 1.0) * 1e-3;
}

Result<double> PrepareAndTimeUs(const Run& run, const GateOptions& options,
                                const std::function<int64_t()>& now_ns) {
  if (options.prepare) options.prepare();
  return TimeUs(run, now_ns);
}

enum class Standing { kOpen, kFaster, kNotFaster };

Standing Judge(const Summary& ratios, const GateOptions& options) {
  const double wanted = std::log1p(-options.min_gain);
  if (ratios.high < 0 && ratios.median <= wanted) return Standing::kFaster;
  return ratios.low > wanted ? Standing::kNotFaster : Standing::kOpen;
}

bool IsKnown(const Summary& ratios, const GateOptions& options) {
  if (Judge(ratios, options) == Standing::kOpen) return false;
  return options.sure_within <= 0 ||
         std::exp(ratios.high) - std::exp(ratios.low) <= options.sure_within;
}

GateResult Report(const Pairs& pairs, const GateOptions& options) {
  const Summary ratios = pairs.Ratios();
  GateResult result;
  result.pairs = ratios.samples;
  result.disturbed = pairs.disturbed;
  result.incumbent_us = Median(pairs.incumbent_us);
  result.challenger_us = Median(pairs.challenger_us);
  if (result.pairs > 0) result.ratio = result.challenger_us / result.incumbent_us;
  result.low = std::min(std::exp(ratios.low), result.ratio);
  result.high = std::max(std::exp(ratios.high), result.ratio);
  if (result.pairs > 0) result.pair_ratio = std::exp(ratios.median);
  const bool enough = result.pairs >= kLeastGatePairs;
  result.accepted = enough && Judge(ratios, options) == Standing::kFaster;
  const std::string interval =
      fmt::format("{:.3f} of the incumbent's time (99 % sure: {:.3f} to {:.3f}) in {} pairs",
                  result.ratio, result.low, result.high, result.pairs);
  if (!enough) {
    result.reason =
        fmt::format("{} pairs in {:.1f} s say too little", result.pairs, options.seconds);
  } else if (result.accepted) {
    result.reason = "faster: " + interval;
  } else {
    result.reason =
        fmt::format("not {:.1f} % faster with confidence: {}", 100 * options.min_gain, interval);
  }
  return result;
}

}  // namespace

Result<GateResult> RunGate(const Run& incumbent, const Run& challenger,
                           const GateOptions& options) {
  const std::function<int64_t()> now_ns = options.now_ns ? options.now_ns : NowNs;
  const int64_t deadline = now_ns() + static_cast<int64_t>(options.seconds * 1e9);
  if (options.warms_up) {
    RETURN_IF_ERROR(incumbent().WithContext("incumbent"));
    RETURN_IF_ERROR(challenger().WithContext("challenger"));
  }
  const Patience patience{now_ns, options.interruptions, options.patience_ns, options.await};
  std::mt19937_64 random(options.seed);
  Pairs pairs;
  int next_look = std::max(options.min_pairs, kLeastGatePairs);
  int64_t pair_ns = 0;  // of the last one
  for (int pair = 0; pair < options.max_pairs && now_ns() + pair_ns < deadline; ++pair) {
    const int64_t begin = now_ns();
    const bool challenger_first = random() % 2 == 1;
    double us[2] = {};
    for (int turn = 0; turn < 2; ++turn) {
      const bool challenging = challenger_first == (turn == 0);
      const Run& run = challenging ? challenger : incumbent;
      ASSIGN_OR_RETURN(
          const UndisturbedTime time,
          TimeUndisturbed([&] { return PrepareAndTimeUs(run, options, now_ns); }, patience));
      us[challenging ? 1 : 0] = time.us;
      pairs.disturbed += time.disturbed ? 1 : 0;
      if (options.observe) options.observe(challenging);
    }
    pairs.incumbent_us.push_back(us[0]);
    pairs.challenger_us.push_back(us[1]);
    pair_ns = now_ns() - begin;
    if (pair + 1 < next_look) continue;
    if (IsKnown(pairs.Ratios(), options)) break;
    next_look = static_cast<int>(std::ceil(next_look * kNextPairs));
  }
  return Report(pairs, options);
}

}  // namespace fettle::tuner
