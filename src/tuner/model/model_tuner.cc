#include "tuner/model/model_tuner.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/log.h"
#include "tuner/model/segment_plans.h"
#include "tuner/model/tuning_plans.h"

namespace fettle::tuner {
namespace {

constexpr double kResidualWarning = 0.10;

/// Warns where the parts do not add up to the whole.
void WarnOfResidual(const TuneModelResult& result) {
  const GateResult& gate = result.gate;
  const double measured_us = gate.accepted ? gate.challenger_us : gate.incumbent_us;
  if (result.predicted_us <= 0 || measured_us <= 0 || result.report.stopped) return;
  const double residual = measured_us / result.predicted_us - 1;
  if (std::abs(residual) <= kResidualWarning) return;
  const int digits = measured_us < 100 ? 1 : 0;
  std::string why;
  if (gate.disturbed > 0)
    why = fmt::format("; other work took cores in {} of {} runs", gate.disturbed, 2 * gate.pairs);
  Log(LogLevel::kWarn, "the {} plan takes {:.{}f} us where {:.{}f} us were predicted ({:+.0f} %){}",
      gate.accepted ? "tuned" : "default", measured_us, digits, result.predicted_us, digits,
      100 * residual, why);
}

/// What the noise that `limits` allow amounts to, for the solver.
double ErrorBudget(const planner::AccuracyLimits& limits) {
  const double budget = std::pow(10, -limits.min_sqnr_db / 10);
  return budget >= 0 ? budget : -1;
}

}  // namespace

void AddRound(const TuneReport& before, TuneReport& report) {
  report.reused = std::max(before.reused, report.reused - before.measured);
  report.measured += before.measured;
  report.rounds += before.rounds;
  report.skipped += before.skipped;
  report.seconds += before.seconds;
  report.solve_seconds += before.solve_seconds;
  report.rejected.insert(report.rejected.begin(), before.rejected.begin(), before.rejected.end());
}

ModelTuner::ModelTuner(const std::shared_ptr<const runtime::Model>& model,
                       const runtime::TensorMap& inputs, const TuneModelOptions& options,
                       Store& store, TriedPlan exact)
    : task_{model, inputs, options, store},
      tune_(options.tune),
      exact_plan_(std::move(exact)),
      start_ns_(options.Now()) {
  result_.book = std::make_shared<planner::PlanBook>();
  result_.deadline_ns = options.deadline_ns;
  result_.packed_weights = options.packed_weights;
  result_.written_per_second = options.written_per_second;
  tune_.measure.cancelled = options.session.cancelled;
  if (tune_.bounds.error_budget < 0) tune_.bounds.error_budget = ErrorBudget(judge_.limits());
}

Result<TunedModel> ModelTuner::Run() {
  const int64_t start = task_.options.Now();
  const Status status = RunRounds();
  if (task_.IsCancelled()) {
    return Error(StatusCode::kCancelled, "interrupted; measurements made and kept: {}",
                 result_.report.measured);
  }
  RETURN_IF_ERROR(status);
  if (!result_.known) WarnOfResidual(result_);
  for (const std::string& warning : result_.report.warnings) Log(LogLevel::kWarn, "{}", warning);
  result_.seconds = static_cast<double>(task_.options.Now() - start) * 1e-9;
  return TunedModel{std::move(result_), std::move(winner_)};
}

Status ModelTuner::RunRounds() {
  Timetable timetable;
  if (task_.options.deadline_ns > 0) {
    RETURN_IF_ERROR(RunPreferred());
    timetable = Timetable::Make(WithTimeForChains(task_.options, start_ns_), default_.run,
                                *task_.model, task_.options.Now());
  }
  RETURN_IF_ERROR(RunRound(timetable, /*uses_kept=*/true));
  while (GoesOn(timetable)) {
    before_ = TakeAttempt();
    const Status status = RunRound(timetable, /*uses_kept=*/false);
    if (!status.ok() || !IsBetter(*before_)) Restore(*std::exchange(before_, std::nullopt));
    before_.reset();
  }
  SettlePace();
  return Keep(timetable.compares);
}

Status ModelTuner::RunRound(const Timetable& timetable, bool uses_kept) {
  ++rounds_;
  tune_.deadline_ns = timetable.tune_until_ns;
  do {
    RETURN_IF_ERROR(Tune(timetable.compares, uses_kept));
    if (!timetable.compares) {
      result_.gate.reason = timetable.reason;
      KnowOnlyDefault(timetable);
      return OkStatus();
    }
    if (before_ && SamePlan(before_->segments, result_.segments)) return OkStatus();
    if (FindVerdict()) return OkStatus();
    RETURN_IF_ERROR(CheckAccuracy());
  } while (!result_.accuracy.ok && BanWorst());
  if (!result_.accuracy.ok) return OkStatus();
  RETURN_IF_ERROR(RunGate(timetable));
  return Calibrate(timetable);
}

bool ModelTuner::GoesOn(Timetable& timetable) {
  constexpr int kMostRounds = 8;
  if (task_.IsCancelled() || result_.known || !timetable.compares || rounds_ >= kMostRounds ||
      !result_.accuracy.ok)
    return false;
  const bool recalibrated = std::exchange(recalibrated_, false);
  if (task_.options.deadline_ns == 0) return recalibrated;
  timetable = Timetable::Make(WithTimeForChains(task_.options, start_ns_), default_.run,
                              *task_.model, task_.options.Now());
  const bool found_more = result_.report.stopped && measured_in_round_ > 0;
  const bool has_time = timetable.compares && timetable.MeasuresFor(task_.options.Now());
  if (has_time && (found_more || recalibrated)) return true;
  timetable.compares = true;  // as it did
  return false;
}

ModelTuner::Attempt ModelTuner::TakeAttempt() {
  return {std::move(result_.segments), result_.gate,           result_.accuracy,
          result_.expected_us,         result_.predicted_us,   result_.alone_us,
          std::move(tuned_),           std::move(tuned_plans_)};
}

void ModelTuner::Restore(Attempt attempt) {
  result_.segments = std::move(attempt.segments);
  result_.gate = attempt.gate;
  result_.accuracy = attempt.accuracy;
  result_.expected_us = attempt.expected_us;
  result_.predicted_us = attempt.predicted_us;
  result_.alone_us = attempt.alone_us;
  tuned_ = std::move(attempt.tuned);
  tuned_plans_ = std::move(attempt.plans);
}

bool ModelTuner::IsBetter(const Attempt& other) const {
  if (SamePlan(other.segments, result_.segments) || !result_.accuracy.ok) return false;
  if (result_.gate.accepted != other.gate.accepted) return result_.gate.accepted;
  return result_.gate.ratio < other.gate.ratio;
}

Result<std::unique_ptr<runtime::Session>> ModelTuner::NewSession(
    std::shared_ptr<planner::PlanSource> plans) {
  runtime::SessionOptions options = task_.options.session;
  options.plans = std::move(plans);
  options.judges_first_run = false;
  options.adapts_lanes = false;
  return runtime::Session::Create(task_.model, std::move(options));
}

Status ModelTuner::RunPreferred() {
  if (default_.session != nullptr) return OkStatus();
  const int64_t begin = task_.options.Now();
  ASSIGN_OR_RETURN(
      default_, RunDefaultPlan(task_.model, task_.options.session, task_.inputs, task_.options.gate,
                               task_.options.OnSteadyClock(task_.options.deadline_ns),
                               std::move(exact_plan_)));
  result_.default_seconds = Seconds(task_.options.Now() - begin);
  tune_.prefers_cpu = default_.session->devices().beside_cpu().empty();
  return OkStatus();
}

Status ModelTuner::Tune(bool runs, bool uses_kept) {
  result_.segments.clear();
  result_.predicted_us = 0;
  const TuneReport before = std::exchange(result_.report, {});
  const auto plans = std::make_shared<TuningPlans>(tune_, uses_kept, task_.store, result_);
  tuned_plans_ = std::make_shared<RecordedPlans>(plans);
  ASSIGN_OR_RETURN(tuned_, NewSession(tuned_plans_));
  const Status status =
      runs ? tuned_->Run(task_.inputs, &got_) : tuned_->Prepare(runtime::ShapesOf(task_.inputs));
  plans->Close();
  measured_in_round_ = result_.report.measured;
  AddRound(before, result_.report);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(RepriceAll());
  result_.expected_us = result_.predicted_us;
  return OkStatus();
}

Status ModelTuner::RepriceAll() {
  result_.predicted_us = result_.alone_us = 0;
  bool known = true;
  for (TunedSegment& segment : result_.segments) {
    ASSIGN_OR_RETURN(const bool all_known, Reprice(segment, *tuned_, tune_.measure.cold_constants,
                                                   task_.store, result_.alone_us));
    result_.predicted_us += segment.decision.predicted_us;
    known = known && all_known;
  }
  if (!known) result_.predicted_us = result_.alone_us = 0;
  return OkStatus();
}

Status ModelTuner::CheckAccuracy() {
  RETURN_IF_ERROR(RunPreferred());
  // Where a kernel was found wrong, the default plan may have it.
  const bool found_wrong = !result_.report.rejected.empty();
  ASSIGN_OR_RETURN(result_.accuracy, judge_.Judge(got_, default_.outputs, found_wrong));
  if (!result_.accuracy.ok) result_.gate.reason = "accuracy: " + result_.accuracy.reason;
  return OkStatus();
}

bool ModelTuner::BanWorst() {
  std::vector<planner::LossyChoice> trades;
  for (const Lossy& lossy : result_.report.lossy) trades.push_back(lossy.trade);
  const int worst = planner::WorstTrade(trades);
  if (worst < 0) return false;
  const Lossy& lossy = result_.report.lossy[worst];
  result_.banned.push_back(lossy);
  return tune_.banned.insert(lossy.key).second;
}

}  // namespace fettle::tuner
