#include "runtime/tuning/tune_model.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "planner/planner.h"
#include "runtime/plan_accuracy.h"
#include "runtime/tuning/default_plan.h"
#include "runtime/tuning/kept_plans.h"
#include "runtime/tuning/recorded_plans.h"
#include "runtime/tuning/timetable.h"
#include "runtime/tuning/tuning_plans.h"
#include "tuner/cost/run_overhead.h"

namespace fettle::runtime {
namespace {

constexpr double kResidualWarning = 0.10;

/// Warns where the parts do not add up to the whole.
void WarnOfResidual(const TuneModelResult& result) {
  const tuner::GateResult& gate = result.gate;
  const double measured_us = gate.accepted ? gate.challenger_us : gate.incumbent_us;
  if (result.predicted_us <= 0 || measured_us <= 0 || result.report.stopped) return;
  const double residual = measured_us / result.predicted_us - 1;
  if (std::abs(residual) <= kResidualWarning) return;
  Log(LogLevel::kWarn, "the {} plan takes {:.0f} us where {:.0f} us were predicted ({:+.0f} %)",
      gate.accepted ? "tuned" : "default", measured_us, result.predicted_us, 100 * residual);
}

/// What the noise that `limits` allow amounts to, for the solver.
double ErrorBudget(const planner::AccuracyLimits& limits) {
  const double budget = std::pow(10, -limits.min_sqnr_db / 10);
  return budget >= 0 ? budget : -1;
}

/// The text of a decision without its times, which change with every lesson.
std::string PlanText(const TunedSegment& segment) {
  planner::Decision decision = segment.decision;
  decision.predicted_us = decision.measured_us = decision.gap = 0;
  for (planner::GroupDecision& group : decision.groups) group.us = 0;
  for (planner::ConversionDecision& conversion : decision.conversions) conversion.us = 0;
  return planner::PrintDecision(*segment.graph, decision);
}

bool SamePlan(const std::vector<TunedSegment>& a, const std::vector<TunedSegment>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TunedSegment& x, const TunedSegment& y) {
                      return x.key == y.key && PlanText(x) == PlanText(y);
                    });
}

/// Sets the times of a decision to what the store knows now; adds what its steps take alone. False
/// where a step has no time.
Result<bool> Reprice(TunedSegment& segment, const Session& session, bool cold_constants,
                     tuner::Store& store, double& alone_us) {
  planner::Decision& decision = segment.decision;
  const int threads = session.limits().threads;
  ASSIGN_OR_RETURN(const exec::Plan plan,
                   planner::Apply(*segment.graph, decision, session.devices(), threads));
  const std::vector<tuner::StepCost> costs =
      tuner::StepCostsOf(plan, session.devices(), threads, cold_constants, store);
  decision.predicted_us = 0;
  bool known = true;
  size_t group = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    double us = costs[i].us;
    if (plan.steps[i].kernel != nullptr) {
      planner::GroupDecision& decided = decision.groups[group++];
      us = decided.us = costs[i].alone_us > 0 ? us : decided.us;
    } else {
      const exec::PlannedTensor& to = plan.tensors[plan.steps[i].outputs[0]];
      for (planner::ConversionDecision& conversion : decision.conversions)
        if (conversion.to == to.state && segment.graph->value(conversion.value).name == to.name)
          us = conversion.us = costs[i].alone_us > 0 ? us : conversion.us;
    }
    decision.predicted_us += us;
    alone_us += costs[i].alone_us > 0 ? costs[i].alone_us : us;
    known = known && (costs[i].known || us > 0);
  }
  decision.predicted_us += tuner::RunOverheads(store).Us(plan, session.devices());
  return known;
}

/// Sums of what was done; what is known now is that of the last round.
void AddRound(const tuner::TuneReport& before, tuner::TuneReport& report) {
  report.reused = std::max(before.reused, report.reused - before.measured);
  report.measured += before.measured;
  report.rounds += before.rounds;
  report.skipped += before.skipped;
  report.seconds += before.seconds;
  report.solve_seconds += before.solve_seconds;
  report.rejected.insert(report.rejected.begin(), before.rejected.begin(), before.rejected.end());
}

/// Tunes, and compares the tuned plan with the preferred one, whole networks.
class ModelTuner {
 public:
  /// `exact`: what tuning at high precision came to, if it did.
  ModelTuner(const std::shared_ptr<const Model>& model, const TensorMap& inputs,
             const TuneModelOptions& options, tuner::Store& store, DefaultPlan exact = {})
      : model_(model),
        inputs_(inputs),
        options_(options),
        tune_(options.tune),
        store_(store),
        exact_plan_(std::move(exact)) {
    result_.book = std::make_shared<planner::PlanBook>();
    result_.deadline_ns = options.deadline_ns;
    result_.packed_weights = options.packed_weights;
    tune_.measure.cancelled = options.session.cancelled;
    if (tune_.bounds.error_budget < 0) tune_.bounds.error_budget = ErrorBudget(Accuracy());
  }

  Result<TuneModelResult> Run() {
    const int64_t start = NowNs();
    const Status status = RunRounds();
    if (IsCancelled()) {
      const tuner::TuneReport& report = result_.report;
      return Error(StatusCode::kCancelled, "interrupted, {} of {} measured",
                   report.reused + report.measured, report.entries);
    }
    RETURN_IF_ERROR(status);
    if (!result_.known) WarnOfResidual(result_);
    for (const std::string& warning : result_.report.warnings) Log(LogLevel::kWarn, "{}", warning);
    result_.seconds = static_cast<double>(NowNs() - start) * 1e-9;
    return std::move(result_);
  }

  /// What won, after a Run that compared; lives no longer than this.
  DefaultPlan TakeWinner() { return std::move(winner_); }

 private:
  /// A plan that was tuned for, and how it was judged.
  struct Attempt {
    std::vector<TunedSegment> segments;
    tuner::GateResult gate;
    planner::PlanAccuracy accuracy;
    double expected_us = 0, predicted_us = 0, alone_us = 0;
    std::shared_ptr<Session> tuned;
    std::shared_ptr<RecordedPlans> plans;  // of `tuned`, whose devices they name
  };

  bool IsCancelled() const {
    return options_.session.cancelled != nullptr && *options_.session.cancelled;
  }

  planner::AccuracyLimits Accuracy() const {
    return LimitsFor(model_->graph(), options_.session.precision, options_.accuracy);
  }

  Status RunRounds() {
    Timetable timetable;
    if (options_.deadline_ns > 0) {
      RETURN_IF_ERROR(RunPreferred());
      timetable = Timetable::Make(options_, default_.run, *model_, NowNs());
    }
    RETURN_IF_ERROR(RunRound(timetable, /*uses_kept=*/true));
    while (GoesOn(timetable)) {
      before_ = TakeAttempt();
      const Status status = RunRound(timetable, /*uses_kept=*/false);
      if (!status.ok() || !IsBetter(*before_)) Restore(*std::exchange(before_, std::nullopt));
      before_.reset();
    }
    return Keep(timetable.compares);
  }

  /// Tunes, and judges the plan.
  Status RunRound(const Timetable& timetable, bool uses_kept) {
    ++rounds_;
    tune_.deadline_ns = timetable.tune_until_ns;
    do {
      RETURN_IF_ERROR(Tune(timetable.compares, uses_kept));
      if (!timetable.compares) {
        result_.gate.reason = timetable.reason;
        KnowOnlyDefault();
        return OkStatus();
      }
      if (before_ && SamePlan(before_->segments, result_.segments)) return OkStatus();
      if (FindVerdict()) return OkStatus();
      RETURN_IF_ERROR(CheckAccuracy());
    } while (!result_.accuracy.ok && BanWorst());
    if (!result_.accuracy.ok) return OkStatus();
    RETURN_IF_ERROR(RunGate(timetable));
    return Calibrate();
  }

  /// Whether another round may find a better plan: the search was not at its end and there is time
  /// for more, or costs are not what it was made with.
  bool GoesOn(Timetable& timetable) {
    constexpr int kMostRounds = 8;
    if (IsCancelled() || result_.known || !timetable.compares || rounds_ >= kMostRounds ||
        !result_.accuracy.ok)
      return false;
    const bool recalibrated = std::exchange(recalibrated_, false);
    if (options_.deadline_ns == 0) return recalibrated;
    timetable = Timetable::Make(options_, default_.run, *model_, NowNs());
    const bool found_more = result_.report.stopped && measured_in_round_ > 0;
    const bool has_time = timetable.compares && timetable.MeasuresFor(NowNs());
    if (has_time && (found_more || recalibrated)) return true;
    timetable.compares = true;  // as it did
    return false;
  }

  Attempt TakeAttempt() {
    return {std::move(result_.segments), result_.gate,           result_.accuracy,
            result_.expected_us,         result_.predicted_us,   result_.alone_us,
            std::move(tuned_),           std::move(tuned_plans_)};
  }
  void Restore(Attempt attempt) {
    result_.segments = std::move(attempt.segments);
    result_.gate = attempt.gate;
    result_.accuracy = attempt.accuracy;
    result_.expected_us = attempt.expected_us;
    result_.predicted_us = attempt.predicted_us;
    result_.alone_us = attempt.alone_us;
    tuned_ = std::move(attempt.tuned);
    tuned_plans_ = std::move(attempt.plans);
  }
  bool IsBetter(const Attempt& other) const {
    if (SamePlan(other.segments, result_.segments) || !result_.accuracy.ok) return false;
    if (result_.gate.accepted != other.gate.accepted) return result_.gate.accepted;
    return result_.gate.ratio < other.gate.ratio;
  }

  Result<std::unique_ptr<Session>> NewSession(std::shared_ptr<planner::PlanSource> plans) {
    SessionOptions options = options_.session;
    options.plans = std::move(plans);
    options.judges_first_run = false;
    return Session::Create(model_, std::move(options));
  }

  /// The default plan's session, its outputs, and what that took.
  Status RunPreferred() {
    if (default_.session != nullptr) return OkStatus();
    ASSIGN_OR_RETURN(default_, RunDefaultPlan(model_, options_.session, inputs_, options_.gate,
                                              options_.deadline_ns, std::move(exact_plan_)));
    return OkStatus();
  }

  /// Tunes what the session comes to; only what can be known without running it unless `runs`.
  Status Tune(bool runs, bool uses_kept) {
    result_.segments.clear();
    result_.predicted_us = 0;
    const tuner::TuneReport before = std::exchange(result_.report, {});
    const auto plans = std::make_shared<TuningPlans>(tune_, uses_kept, store_, result_);
    tuned_plans_ = std::make_shared<RecordedPlans>(plans);
    ASSIGN_OR_RETURN(tuned_, NewSession(tuned_plans_));
    const Status status = runs ? tuned_->Run(inputs_, &got_) : tuned_->Prepare(ShapesOf(inputs_));
    plans->Close();
    measured_in_round_ = result_.report.measured;
    AddRound(before, result_.report);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(RepriceAll());
    result_.expected_us = result_.predicted_us;
    return OkStatus();
  }

  Status RepriceAll() {
    result_.predicted_us = result_.alone_us = 0;
    bool known = true;
    for (TunedSegment& segment : result_.segments) {
      ASSIGN_OR_RETURN(const bool all_known, Reprice(segment, *tuned_, tune_.measure.cold_constants,
                                                     store_, result_.alone_us));
      result_.predicted_us += segment.decision.predicted_us;
      known = known && all_known;
    }
    if (!known) result_.predicted_us = result_.alone_us = 0;
    return OkStatus();
  }

  bool MayLosePrecision() const { return options_.session.precision != planner::Precision::kHigh; }

  planner::PlanAccuracy Judge(const TensorMap& outputs) const {
    return CompareOutputs(outputs, MayLosePrecision() ? exact_ : default_.outputs, Accuracy());
  }

  /// What is right: the preferred plan's outputs, or, where that may store values in f16 that do
  /// not fit, the CPU's, which the preferred plan is then judged by too.
  Status FindReference() {
    RETURN_IF_ERROR(RunPreferred());
    if (!MayLosePrecision() || !exact_.empty()) return OkStatus();
    ASSIGN_OR_RETURN(const auto session,
                     Session::Create(model_, {.threads = options_.session.threads,
                                              .cancelled = options_.session.cancelled}));
    RETURN_IF_ERROR(session->Run(inputs_, &exact_));
    preferred_accuracy_ = Judge(default_.outputs);
    return OkStatus();
  }

  Status CheckAccuracy() {
    RETURN_IF_ERROR(FindReference());
    result_.accuracy = Judge(got_);
    if (!result_.accuracy.ok) result_.gate.reason = "accuracy: " + result_.accuracy.reason;
    return OkStatus();
  }

  /// The solver kept the budget by the errors that it knew, so one was estimated too low: bans the
  /// choice that loses most accuracy for the time it saves; false where none loses any.
  bool BanWorst() {
    std::vector<planner::LossyChoice> trades;
    for (const tuner::Lossy& lossy : result_.report.lossy) trades.push_back(lossy.trade);
    const int worst = planner::WorstTrade(trades);
    if (worst < 0) return false;
    const tuner::Lossy& lossy = result_.report.lossy[worst];
    result_.banned.push_back(lossy);
    return tune_.banned.insert(lossy.key).second;
  }

  /// The default plan stays, and its one run is all that is known of times.
  void KnowOnlyDefault() {
    result_.gate.incumbent_us = result_.gate.challenger_us = default_.run.run_seconds * 1e6;
    AcceptForMemory();
  }

  Status RunGate(const Timetable& timetable) {
    tuner::GateOptions gate = options_.gate;
    gate.warms_up = false;
    if (options_.deadline_ns > 0)
      gate.seconds = std::min(gate.seconds, timetable.GateSeconds(NowNs()));
    StepTimes preferred, tuned;
    gate.observe = [&](bool challenger) {
      (challenger ? tuned : preferred).Add((challenger ? tuned_ : default_.session)->profile());
    };
    ASSIGN_OR_RETURN(
        result_.gate,
        tuner::RunGate([&] { return default_.session->Run(inputs_, &default_.outputs); },
                       [&] { return tuned_->Run(inputs_, &got_); }, gate));
    preferred_times_ = std::move(preferred);
    tuned_times_ = std::move(tuned);
    if (result_.gate.pairs == 0) KnowOnlyDefault();
    AcceptForMemory();
    if (preferred_accuracy_.ok || result_.gate.accepted) return OkStatus();
    result_.gate.accepted = true;
    result_.gate.reason = "the default plan loses too much: " + preferred_accuracy_.reason;
    return OkStatus();
  }

  static int64_t Held(const Session& session) {
    return session.memory().arena_bytes + session.memory().device_bytes;
  }

  /// A default plan that needs more memory than it may is no alternative.
  void AcceptForMemory() {
    const int64_t limit = tune_.bounds.memory_limit;
    if (limit < 0) return;
    if (Held(*tuned_) > limit)
      Log(LogLevel::kWarn,
          "what the plan holds fits into {} bytes, but lies in {}: its parts leave gaps", limit,
          Held(*tuned_));
    if (result_.gate.accepted || Held(*default_.session) <= limit) return;
    result_.gate.accepted = true;
    result_.gate.reason = fmt::format("the default plan needs {} bytes, over the limit of {}",
                                      Held(*default_.session), limit);
  }

  /// Learns from what steps took in both networks. Those of an accelerator are only enqueued: the
  /// whole runs teach what they take beside their steps.
  Status Calibrate() {
    const DeviceSet devices = tuned_->devices();
    const auto accelerators = devices.beside_cpu();
    if (!accelerators.empty()) {
      if (accelerators.size() == 1) LearnRunOverhead(*accelerators.front());
      return RepriceAll();
    }
    constexpr double kWorthSolvingAgain = 0.05;
    const bool cold = tune_.measure.cold_constants;
    std::vector<tuner::StepSample> samples =
        tuned_times_.Samples(tuned_plans_->Price(cold, store_));
    result_.steps_us = 0;
    for (const tuner::StepSample& sample : samples)
      result_.steps_us += (sample.halves_us[0] + sample.halves_us[1]) / 2;
    const std::vector<tuner::StepSample> more =
        preferred_times_.Samples(default_.plans->Price(cold, store_));
    samples.insert(samples.end(), more.begin(), more.end());
    const tuner::Lesson lesson = tuner::Calibrations(store_).Learn(samples);
    // What an earlier round taught holds on.
    if (lesson.kept || !result_.lesson.kept) result_.lesson = lesson;
    if (!lesson.kept) return OkStatus();
    recalibrated_ = rounds_ == 1 && measured_in_round_ > 0 &&
                    lesson.residual_before - lesson.residual_after > kWorthSolvingAgain;
    return RepriceAll();
  }

  void LearnRunOverhead(const Device& accelerator) {
    tuner::RunOverheads overheads(store_);
    for (const auto& [plans, run_us] : {std::pair(default_.plans, result_.gate.incumbent_us),
                                        std::pair(tuned_plans_, result_.gate.challenger_us)}) {
      auto sample = plans->Sample(accelerator, tune_.measure.cold_constants, store_);
      if (!sample || run_us <= 0) continue;
      sample->run_us = run_us;
      overheads.Learn(accelerator, *sample);
    }
  }

  /// Puts what won into the book, and, where it was `compared`, into the store: not what a limit of
  /// this call alone has shaped.
  Status Keep(bool compared) {
    compared = compared && tune_.bounds.memory_limit < 0;
    RETURN_IF_ERROR(RepriceAll());
    const std::vector<TunedSegment> judged = result_.segments;
    if (!result_.gate.accepted) {
      for (TunedSegment& segment : result_.segments) {
        ASSIGN_OR_RETURN(segment.decision, Preferred(segment));
      }
      RETURN_IF_ERROR(RepriceAll());
    }
    const bool single = result_.segments.size() == 1;
    for (size_t i = 0; i < judged.size(); ++i) {
      TunedSegment& segment = result_.segments[i];
      if (compared) KeepSearch(tune_, judged[i], store_);
      if (single)
        segment.decision.measured_us =
            result_.gate.accepted ? result_.gate.challenger_us : result_.gate.incumbent_us;
      const std::string text = planner::PrintDecision(*segment.graph, segment.decision);
      result_.book->Put({segment.key, text});
      if (compared) KeepLearned(segment.key, segment.decision, text, store_);
      if (compared && !result_.known)
        KeepVerdict(segment.key, judged[i].decision, PlanText(judged[i]), result_.gate, store_);
    }
    if (!result_.gate.accepted) {
      winner_ = std::move(default_);
    } else {
      winner_ = {.session = std::move(tuned_),
                 .plans = tuned_plans_,
                 .outputs = std::move(got_),
                 .run = default_.run};
    }
    result_.session = winner_.session;
    return OkStatus();
  }

  /// What the preferred plan came to: on the CPU alone where a device has failed.
  Result<planner::Decision> Preferred(const TunedSegment& segment) const {
    if (default_.plans != nullptr) {
      if (const auto place = default_.plans->LastPlace(segment.key.graph)) {
        if (place->limits.precision != options_.session.precision) {
          const Result<LearnedDecision> learned =
              FindLearned(*segment.graph, place->devices, place->limits, store_);
          if (learned.ok()) return learned->decision;
        }
        return planner::PreferredDecision(*segment.graph, place->devices, place->limits);
      }
    }
    if (result_.known) {
      const Result<LearnedDecision> learned =
          FindLearned(*segment.graph, tuned_->devices(), tuned_->limits(), store_);
      if (learned.ok()) return learned->decision;
    }
    return planner::PreferredDecision(*segment.graph, tuned_->devices(), tuned_->limits());
  }

  /// The verdict of an earlier call, if that judged exactly these decisions.
  bool FindVerdict() {
    for (const TunedSegment& segment : result_.segments) {
      const Result<tuner::GateResult> kept =
          runtime::FindVerdict(segment.key, PlanText(segment), store_);
      if (!kept.ok()) return false;
      result_.gate = *kept;
    }
    result_.known = !result_.segments.empty();
    return result_.known;
  }

  const std::shared_ptr<const Model>& model_;
  const TensorMap& inputs_;
  const TuneModelOptions& options_;
  tuner::TuneOptions tune_;
  tuner::Store& store_;
  TuneModelResult result_;
  DefaultPlan exact_plan_, default_, winner_;
  std::shared_ptr<Session> tuned_;
  std::shared_ptr<RecordedPlans> tuned_plans_;
  StepTimes preferred_times_, tuned_times_;
  TensorMap got_, exact_;
  planner::PlanAccuracy preferred_accuracy_;
  std::optional<Attempt> before_;
  int rounds_ = 0;
  int64_t measured_in_round_ = 0;
  bool recalibrated_ = false;  // and not solved with yet
};

/// Where a lower precision is allowed beside the CPU, half of the time goes to high precision,
/// whose kernels are a part of what is searched after it, and whose plan the other has to beat:
/// that finds it no sooner among twice as many.
bool TunesHighPrecisionFirst(const TuneModelOptions& options) {
  return options.session.precision != planner::Precision::kHigh &&
         !options.session.accelerators.empty() && options.tune.level != tuner::Level::kNone;
}

TuneModelOptions AtHighPrecision(TuneModelOptions options) {
  options.session.precision = planner::Precision::kHigh;
  options.writes_package = false;
  if (options.deadline_ns > 0) options.deadline_ns = NowNs() + (options.deadline_ns - NowNs()) / 2;
  return options;
}

/// Whether nothing else can be tuned after it.
bool EndsTuning(StatusCode code) {
  return code == StatusCode::kCancelled || code == StatusCode::kDeviceUnavailable;
}

}  // namespace

Result<TuneModelResult> TuneModel(const std::shared_ptr<const Model>& model,
                                  const TensorMap& inputs, const TuneModelOptions& options,
                                  tuner::Store& store) {
  if (!TunesHighPrecisionFirst(options)) return ModelTuner(model, inputs, options, store).Run();
  const TuneModelOptions exact_options = AtHighPrecision(options);
  ModelTuner exact_tuner(model, inputs, exact_options, store);
  const Result<TuneModelResult> exact = exact_tuner.Run();
  if (!exact.ok()) {
    if (EndsTuning(exact.status().code())) return exact.status();
    Log(LogLevel::kInfo, "tuning at high precision: {}", exact.status().message());
  }
  ModelTuner tuner(model, inputs, options, store,
                   exact.ok() ? exact_tuner.TakeWinner() : DefaultPlan());
  ASSIGN_OR_RETURN(TuneModelResult result, tuner.Run());
  if (exact.ok()) AddRound(exact->report, result.report);
  return result;
}

}  // namespace fettle::runtime
