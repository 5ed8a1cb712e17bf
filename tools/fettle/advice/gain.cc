#include "advice/gain.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "jobs/interrupt.h"
#include "report/judgement.h"
#include "tuner/network/gate.h"

namespace fettle::tools {
namespace {

constexpr double kLeastGain = 0.01;
/// Pairs that a comparison has time for, however long an inference is.
constexpr double kLeastPairs = 16;
constexpr int kMostPairs = 2000;
/// Of the 99 % interval that is aimed at where a gain is printed.
constexpr double kWidthOfGains = 0.01;

int64_t MacsOf(const std::vector<exec::StepProfile>& steps) {
  return std::accumulate(steps.begin(), steps.end(), int64_t{0},
                         [](int64_t sum, const auto& step) { return sum + step.macs; });
}

/// `sure_within`: width of the gain's interval; 0 where it matters only whether there is a gain.
Result<MeasuredChange> CompareUntil(const AdviceOptions& options, Runner& before, Runner& after,
                                    double sure_within) {
  MeasuredChange measured{.macs_before = MacsOf(before.steps()),
                          .macs_after = MacsOf(after.steps())};
  double pair_ms = 0;
  for (const auto* steps : {&before.steps(), &after.steps()})
    for (const exec::StepProfile& step : *steps) pair_ms += step.ms;
  const double seconds = std::max(options.seconds, kLeastPairs * pair_ms * 1e-3);
  ASSIGN_OR_RETURN(const tuner::GateResult gate,
                   tuner::RunGate([&] { return before.Run(); }, [&] { return after.Run(); },
                                  {.min_gain = kLeastGain,
                                   .max_pairs = kMostPairs,
                                   .sure_within = sure_within,
                                   .seconds = seconds}));
  measured.ms_before = gate.incumbent_us * 1e-3;
  measured.ms_after = gate.challenger_us * 1e-3;
  measured.ratio = gate.pair_ratio;
  measured.low = gate.low;
  measured.high = gate.high;
  measured.gains = gate.accepted;
  return measured;
}

}  // namespace

Result<Runner> Runner::Create(const Job& job, std::shared_ptr<const runtime::Model> model) {
  Runner runner;
  runner.segments_ = std::make_shared<PlannedSegments>(planner::PreferredPlans());
  runtime::SessionOptions wanted = job.session;
  wanted.plans = runner.segments_;
  wanted.cancelled = &InterruptScope::Flag();
  ASSIGN_OR_RETURN(runner.session_, runtime::Session::Create(std::move(model), wanted));
  runner.inputs_ = job.bound.tensors();
  RETURN_IF_ERROR(runner.Run());
  return runner;
}

Result<Runner> Runner::Create(const Job& job, std::string_view bytes) {
  ASSIGN_OR_RETURN(auto model, runtime::Model::LoadBytes(std::as_bytes(std::span(bytes)), "model"));
  return Create(job, std::move(model));
}

bool Agree(const Runner& before, const Runner& after) {
  for (const auto& [name, want] : before.outputs()) {
    const auto got = after.outputs().find(name);
    if (got == after.outputs().end() || !Judge(got->second, want, {}).ok) return false;
  }
  return true;
}

Result<MeasuredChange> Compare(const AdviceOptions& options, Runner& before, Runner& after) {
  return CompareUntil(options, before, after, 0);
}

Result<MeasuredChange> MeasureGain(const AdviceOptions& options, const Job& job,
                                   std::string_view original, std::string_view changed) {
  constexpr size_t kDraws = 3;
  std::vector<MeasuredChange> draws;
  for (size_t i = 0; i < kDraws; ++i) {
    std::optional<Runner> before, after;
    for (const bool is_changed : {i % 2 == 1, i % 2 == 0}) {
      ASSIGN_OR_RETURN((is_changed ? after : before),
                       Runner::Create(job, is_changed ? changed : original));
    }
    ASSIGN_OR_RETURN(draws.emplace_back(), CompareUntil(options, *before, *after, kWidthOfGains));
  }
  std::ranges::sort(draws, {}, &MeasuredChange::ratio);
  MeasuredChange middle = draws[kDraws / 2];
  for (const MeasuredChange& draw : draws) {
    middle.low = std::min(middle.low, draw.low);
    middle.high = std::max(middle.high, draw.high);
  }
  middle.gains =
      std::ranges::count(draws, true, &MeasuredChange::gains) > static_cast<int64_t>(kDraws / 2);
  return middle;
}

}  // namespace fettle::tools
