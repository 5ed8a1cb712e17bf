#include "tuner/model/timetable.h"

#include <algorithm>

namespace fettle::tuner {
namespace {

/// For the end of the process and what else nobody counts.
constexpr double kTailSeconds = 0.1;
/// Packed weights are written if that takes at most this share of the time.
constexpr double kMostForWeights = 0.2;
/// The gate gets this share, or what the fewest pairs take.
constexpr double kGateShare = 0.2;
/// Comparing is given up if it leaves less than this share for measuring.
constexpr double kLeastForMeasuring = 0.2;

int64_t Nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

/// Constants that a package holds as they are.
double StoredBytes(const runtime::Model& model) {
  double bytes = 0;
  for (const ir::Value& value : model.graph().values()) {
    if (value.is_constant() && value.constant->source() == nullptr)
      bytes += static_cast<double>(StorageBytes(value.dtype, value.constant->elements()));
  }
  return bytes;
}

double PackedBytes(const runtime::Model& model) {
  return static_cast<double>(model.packed().bytes());
}

std::string WhyNothingIsCompared(double left, double comparing, double run) {
  const std::string_view why = "the budget leaves no time to compare whole networks";
  if (left <= 0) return fmt::format("{}: the plan before tuning used it up", why);
  return fmt::format(
      "{}: that takes {:.2g} s ({} pairs of runs of {:.3g} ms) of the {:.2g} s that are left; what "
      "was measured is kept",
      why, comparing, tuner::kLeastGatePairs, run * 1e3, left);
}

}  // namespace

Timetable Timetable::Make(const TuneModelOptions& options, const DefaultRun& run,
                          const runtime::Model& model, int64_t now_ns) {
  const double left = Seconds(options.deadline_ns - now_ns);
  const double write = kTailSeconds + WriteSeconds(options, model, left);
  // A pair more, as the time of a pair is only known after the first.
  const double pairs = 2 * run.run_seconds * (tuner::kLeastGatePairs + 1);
  const double gate = std::max(pairs, std::min(options.gate.seconds, kGateShare * left));
  const double start = run.prepare_seconds + run.first_seconds;
  Timetable table;
  table.gate_until_ns = options.deadline_ns - Nanoseconds(write);
  table.tune_until_ns = table.gate_until_ns - Nanoseconds(start + gate);
  if (Seconds(table.tune_until_ns - now_ns) >= kLeastForMeasuring * left) return table;
  table.compares = false;
  table.reason = WhyNothingIsCompared(left - write, start + pairs, run.run_seconds);
  table.tune_until_ns = table.gate_until_ns - Nanoseconds(run.prepare_seconds);
  return table;
}

double Timetable::WriteSeconds(const TuneModelOptions& options, const runtime::Model& model,
                               double left) {
  if (!options.writes_package) return 0;
  const double packed = PackedBytes(model) / options.written_per_second;
  return StoredBytes(model) / options.written_per_second +
         (options.packed_weights && packed <= kMostForWeights * left ? packed : 0);
}

bool Timetable::MeasuresFor(int64_t now_ns) const {
  constexpr double kLeastSeconds = 0.05;
  return Seconds(tune_until_ns - now_ns) >= kLeastSeconds;
}

double Timetable::GateSeconds(int64_t now_ns) const {
  return std::max(Seconds(gate_until_ns - now_ns), 0.0);
}

bool Timetable::AffordsPackedWeights(const runtime::Model& model, double written_per_second,
                                     int64_t deadline_ns, int64_t now_ns) {
  if (deadline_ns == 0) return true;
  return (PackedBytes(model) + StoredBytes(model)) / written_per_second <=
         Seconds(deadline_ns - now_ns);
}

}  // namespace fettle::tuner
