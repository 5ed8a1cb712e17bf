// Tunes a network at one precision, and compares the tuned plan with the preferred one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/tuning/default_plan.h"
#include "runtime/tuning/timetable.h"
#include "runtime/tuning/tune_model.h"
#include "tuner/cost/calibration.h"

namespace fettle::runtime {

/// What tuning came to, and the session that won where plans were compared.
struct TunedModel {
  TuneModelResult result;
  TriedPlan winner;
};

/// Adds what was done `before` to a report; what is known now is that of the last round.
void AddRound(const tuner::TuneReport& before, tuner::TuneReport& report);

/// Rounds of search, each judged by whole runs; used once. Holds two or three sessions while it
/// lives, the losers among them. References must outlive it. Not synchronised.
class ModelTuner {
 public:
  /// `exact`: what tuning at high precision came to, if it did.
  ModelTuner(const std::shared_ptr<const Model>& model, const TensorMap& inputs,
             const TuneModelOptions& options, tuner::Store& store, TriedPlan exact = {});

  /// kCancelled where the caller ends it.
  Result<TunedModel> Run();

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
  planner::AccuracyLimits Accuracy() const;
  bool MayLosePrecision() const { return options_.session.precision != planner::Precision::kHigh; }

  Status RunRounds();
  /// Tunes, and judges the plan.
  Status RunRound(const Timetable& timetable, bool uses_kept);
  /// Whether another round may find a better plan: the search was not at its end and there is time
  /// for more, or costs are not what it was made with.
  bool GoesOn(Timetable& timetable);
  Attempt TakeAttempt();
  void Restore(Attempt attempt);
  bool IsBetter(const Attempt& other) const;

  Result<std::unique_ptr<Session>> NewSession(std::shared_ptr<planner::PlanSource> plans);
  /// The default plan's session, its outputs, and what that took.
  Status RunPreferred();
  /// Tunes what the session comes to; only what can be known without running it unless `runs`.
  Status Tune(bool runs, bool uses_kept);
  Status RepriceAll();

  planner::PlanAccuracy Judge(const TensorMap& outputs) const;
  /// What is right: the preferred plan's outputs, or, where that may store values in f16 that do
  /// not fit, the CPU's, which the preferred plan is then judged by too.
  Status FindReference();
  Status CheckAccuracy();
  /// The solver kept the budget by the errors that it knew, so one was estimated too low: bans the
  /// choice that loses most accuracy for the time it saves; false where none loses any.
  bool BanWorst();

  // model_gate.cc
  /// The default plan stays, and what its runs take is all that is known of times.
  void KnowOnlyDefault(const Timetable& timetable);
  /// Microseconds of some more runs of the default plan, whose steps are kept; none where they take
  /// long.
  std::vector<double> RunDefaultAgain(const Timetable& timetable);
  Status RunGate(const Timetable& timetable);
  /// A default plan that needs more memory than it may is no alternative.
  void AcceptForMemory();
  /// Learns from what steps took in both networks. Those of an accelerator with cores of its own
  /// are only enqueued, which teaches how long that takes the host; the whole runs teach what they
  /// take beside their steps.
  Status Calibrate(const Timetable& timetable);
  /// From those of the CPU and of devices that work on its cores; whether anything was kept.
  bool LearnSteps(const DeviceSet& devices, const Timetable& timetable);
  /// Those of a session's steps that were timed, not only enqueued.
  std::vector<tuner::StepSample> TimedSteps(const Session& session,
                                            const std::shared_ptr<RecordedPlans>& plans,
                                            const StepTimes& times, double run_us,
                                            const Timetable& timetable);
  /// The verdict's times at the pace of the fastest round.
  void SettlePace();
  void LearnHostPace(const Device& accelerator);
  void LearnRunOverhead(const Device& accelerator, const std::shared_ptr<RecordedPlans>& plans,
                        double run_us);

  // model_chains.cc
  /// OK, or why none is tried.
  Status MayTryChains() const;
  /// The options, with a deadline that leaves chains their share.
  TuneModelOptions WithTimeForChains() const;
  /// Has what won launch steps together where that is faster, as the store knows or runs show.
  Status ChooseChains();
  Result<std::shared_ptr<Session>> NewChained(const TunedSegment& segment,
                                              const std::vector<exec::StepChain>& chains,
                                              bool waits_for_steps);
  Status TakeChains(TunedSegment& segment, std::vector<TriedChain> kept);
  Status SearchChains(TunedSegment& segment);

  // model_winner.cc
  /// The verdict of an earlier call, if that judged exactly these decisions.
  bool FindVerdict();
  /// Puts what won into the book, and, where it was `compared`, into the store: not what a limit of
  /// this call alone has shaped.
  Status Keep(bool compared);
  /// What the preferred plan came to: on the CPU alone where a device has failed.
  Result<planner::Decision> Preferred(const TunedSegment& segment) const;

  const std::shared_ptr<const Model>& model_;
  const TensorMap& inputs_;
  const TuneModelOptions& options_;
  tuner::TuneOptions tune_;
  tuner::Store& store_;
  TuneModelResult result_;
  TriedPlan exact_plan_, default_, winner_;
  std::shared_ptr<Session> tuned_;
  std::shared_ptr<RecordedPlans> tuned_plans_;
  std::shared_ptr<Session> chained_;  // on the winner's plan with chains; null: it has none
  bool searched_chains_ = false;      // to the end
  StepTimes preferred_times_, tuned_times_;
  RoundSamples samples_;
  tuner::Calibrations lessons_;
  TensorMap got_, exact_;
  planner::PlanAccuracy preferred_accuracy_;
  std::optional<Attempt> before_;
  int rounds_ = 0;
  int64_t measured_in_round_ = 0;
  int64_t start_ns_ = 0;
  bool recalibrated_ = false;  // and not solved with yet
};

}  // namespace fettle::runtime
