#include "tuner/measure/sampling.h"

#include <algorithm>
#include <cmath>

namespace fettle::tuner {
namespace {

/// Samples that the time limit does not spare, unless they take far more.
constexpr int kLeastSamples = 3;
constexpr double kFarMore = 10;
/// So much slower than the limit, two samples are enough.
constexpr double kHopeless = 1.3;
/// Looks at the summary grow apart by this factor, as sorting for each sample would take longer
/// than the samples.
constexpr double kNextLook = 1.2;

class Stopwatch {
 public:
  explicit Stopwatch(const std::function<int64_t()>& now_ns) : now_ns_(now_ns), begin_(now_ns()) {}
  double Ms() const { return static_cast<double>(now_ns_() - begin_) * 1e-6; }

 private:
  const std::function<int64_t()>& now_ns_;
  int64_t begin_;
};

bool IsTooSlow(const Summary& us, double limit_us, const MeasureOptions& options) {
  if (us.samples >= 2 && us.low > kHopeless * limit_us) return true;
  return us.samples >= options.min_samples && us.low > (1 + options.stop_margin) * limit_us;
}

bool IsSure(const Summary& us, double ms, const MeasureOptions& options) {
  if (us.samples >= kLeastSamples && ms >= options.max_ms) return true;
  if (ms >= kFarMore * options.max_ms) return true;
  return us.samples >= options.min_samples && ms >= options.min_ms &&
         us.error() <= options.precision * us.median;
}

}  // namespace

bool IsLate(const MeasureOptions& options, const std::function<int64_t()>& now_ns) {
  if (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed))
    return true;
  return options.deadline_ns > 0 && now_ns() >= options.deadline_ns;
}

Status OutOfTime() { return Error(StatusCode::kCancelled, "out of time"); }

Result<Timing> SampleUntilSure(const Sample& sample, double stop_above_us,
                               const MeasureOptions& options,
                               const std::function<int64_t()>& now_ns) {
  const Stopwatch watch(now_ns);
  // A launch that takes long needs no second warm-up.
  for (int i = 0; i < options.warm_ups && watch.Ms() < options.max_ms / 4; ++i) {
    if (IsLate(options, now_ns)) return OutOfTime();
    RETURN_IF_ERROR(sample().status());
  }
  std::vector<double> samples;
  int next_look = 2;
  for (;;) {
    if (IsLate(options, now_ns)) return OutOfTime();
    ASSIGN_OR_RETURN(const double us, sample());
    samples.push_back(us);
    const auto count = static_cast<int>(samples.size());
    const double ms = watch.Ms();
    if (count < next_look && ms < options.max_ms) continue;
    next_look = std::max(count + 1, static_cast<int>(count * kNextLook));
    const Summary summary = Summarise(samples);
    if (IsTooSlow(summary, stop_above_us, options)) return Timing{summary, true};
    if (IsSure(summary, ms, options)) return Timing{summary, false};
  }
}

}  // namespace fettle::tuner
