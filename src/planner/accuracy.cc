#include "planner/accuracy.h"

#include <cmath>
#include <limits>

#include "tensor/compare.h"

namespace fettle::planner {
namespace {

/// Elements of which one side alone is NaN or infinite, or both are but not equal.
int64_t CountBroken(const HostView& got, const HostView& want) {
  int64_t broken = 0;
  for (int64_t i = 0; i < want.shape.elements(); ++i) {
    const double w = want.GetDouble(i), g = got.GetDouble(i);
    if (std::isfinite(w) && std::isfinite(g)) continue;
    broken += w == g || (std::isnan(w) && std::isnan(g)) ? 0 : 1;
  }
  return broken;
}

/// Adds one output to the worst so far; returns why it fails, or "".
std::string CheckOutput(int index, const HostView& got, const HostView& want,
                        const AccuracyLimits& limits, PlanAccuracy& worst) {
  const Difference difference = Compare(got, want, {});
  worst.max_abs = std::max(worst.max_abs, difference.max_abs);
  if (!IsFloat(want.dtype)) {
    const double changed = static_cast<double>(difference.bad) /
                           static_cast<double>(std::max<int64_t>(difference.elements, 1));
    if (changed > worst.changed && worst.worst_output < 0) worst.worst_output = index;
    worst.changed = std::max(worst.changed, changed);
    if (changed <= limits.max_changed) return "";
    return fmt::format("output {}: {:.2f} % of its elements differ", index, 100 * changed);
  }
  if (difference.sqnr_db < worst.sqnr_db) {
    worst.sqnr_db = difference.sqnr_db;
    worst.worst_output = index;
  }
  if (const int64_t broken = CountBroken(got, want); broken > 0)
    return fmt::format("output {}: {} elements are finite in one plan only", index, broken);
  if (difference.sqnr_db >= limits.min_sqnr_db) return "";
  return fmt::format("output {}: {:.1f} dB signal to noise, {:.1f} required", index,
                     difference.sqnr_db, limits.min_sqnr_db);
}

}  // namespace

PlanAccuracy CheckPlan(std::span<const Tensor> got, std::span<const Tensor> want,
                       const AccuracyLimits& limits) {
  FETTLE_CHECK(got.size() == want.size(), "both plans have the same outputs");
  PlanAccuracy worst{.sqnr_db = std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].empty() || got[i].empty()) continue;
    const std::string reason =
        CheckOutput(static_cast<int>(i), got[i].view(), want[i].view(), limits, worst);
    if (reason.empty() || !worst.ok) continue;
    worst.ok = false;
    worst.reason = reason;
  }
  return worst;
}

int WorstTrade(std::span<const LossyChoice> choices) {
  // A choice that saves nothing is the worst trade of all.
  constexpr double kLeastSavedUs = 1e-3;
  int worst = -1;
  double most = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    const double trade = choices[i].error / std::max(choices[i].saved_us, kLeastSavedUs);
    if (choices[i].error <= 0 || trade <= most) continue;
    worst = static_cast<int>(i);
    most = trade;
  }
  return worst;
}

}  // namespace fettle::planner
