// Tunes a network at one precision, and compares the tuned plan with the preferred one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tuner/model/chain_choice.h"
#include "tuner/model/default_plan.h"
#include "tuner/model/output_judge.h"
#include "tuner/model/run_lessons.h"
#include "tuner/model/timetable.h"
#include "tuner/model/tune_model.h"

namespace fettle::tuner {

/// The result of tuning, and the winning session where plans were compared.
struct TunedModel {
  TuneModelResult result;
  TriedPlan winner;
};

/// Adds the work of `before` to a report; figures of knowledge are the last round's.
void AddRound(const TuneReport& before, TuneReport& report);

/// Rounds of search, each judged by whole runs; used once. Holds two or three sessions while it
/// lives, the losers among them. References must outlive it. Not synchronised.
class ModelTuner {
 public:
  /// `exact`: the result of tuning at high precision, if there was one.
  ModelTuner(const std::shared_ptr<const runtime::Model>& model, const runtime::TensorMap& inputs,
             const TuneModelOptions& options, Store& store, TriedPlan exact = {});

  /// kCancelled where the caller ends it.
  Result<TunedModel> Run();

 private:
  /// A plan that was tuned for, and how it was judged.
  struct Attempt {
    std::vector<TunedSegment> segments;
    GateResult gate;
    planner::PlanAccuracy accuracy;
    double expected_us = 0, predicted_us = 0, alone_us = 0;
    std::shared_ptr<runtime::Session> tuned;
    std::shared_ptr<RecordedPlans> plans;  // of `tuned`, whose devices they name
  };

  Status RunRounds();
  /// Tunes, and judges the plan.
  Status RunRound(const Timetable& timetable, bool uses_kept);
  /// Whether another round may find a better plan: the search had not ended and there is time, or
  /// costs have changed since the plan was made.
  bool GoesOn(Timetable& timetable);
  Attempt TakeAttempt();
  void Restore(Attempt attempt);
  bool IsBetter(const Attempt& other) const;

  Result<std::unique_ptr<runtime::Session>> NewSession(std::shared_ptr<planner::PlanSource> plans);
  /// The default plan's session, its outputs, and the time they took.
  Status RunPreferred();
  /// Tunes the session's segments; without `runs` only those that are known without running it.
  Status Tune(bool runs, bool uses_kept);
  Status RepriceAll();

  Status CheckAccuracy();
  /// The solver kept the error budget by its estimates, so one estimate is too low. Bans the choice
  /// that loses most accuracy for the time it saves; false where no choice loses any.
  bool BanWorst();

  // model_gate.cc
  /// Keeps the default plan; its runs are then the only times that are known.
  void KnowOnlyDefault(const Timetable& timetable);
  /// Microseconds of some more runs of the default plan, whose steps are kept; none where runs are
  /// long.
  std::vector<double> RunDefaultAgain(const Timetable& timetable);
  Status RunGate(const Timetable& timetable);
  /// Drops a default plan that needs more memory than allowed.
  void AcceptForMemory();
  /// Learns from what steps and whole runs took in both networks.
  Status Calibrate(const Timetable& timetable);
  SeenRuns DefaultRuns() const;
  /// Where there is one.
  void LearnAccelerator(const DeviceSet& devices, std::span<const SeenRuns> runs);
  /// The verdict's times at the pace of the fastest round.
  void SettlePace();

  // model_winner.cc
  /// The verdict of an earlier call, if that judged exactly these decisions.
  bool FindVerdict();
  /// Makes the winner launch steps together where that is faster.
  Status ChooseChains();
  /// Puts the winner into the book, and, if it was `compared`, into the store. A plan that a limit
  /// of this call alone shaped is not stored.
  Status Keep(bool compared);
  /// The result of the preferred plan: on the CPU alone where a device has failed.
  Result<planner::Decision> Preferred(const TunedSegment& segment) const;

  const TuningTask task_;
  TuneOptions tune_;
  OutputJudge judge_{task_};
  RunLessons lessons_{task_, tune_.measure};
  ChainChoice chains_{task_};
  TuneModelResult result_;
  TriedPlan exact_plan_, default_, winner_;
  std::shared_ptr<runtime::Session> tuned_;
  std::shared_ptr<RecordedPlans> tuned_plans_;
  StepTimes preferred_times_, tuned_times_;
  runtime::TensorMap got_;
  std::optional<Attempt> before_;
  int rounds_ = 0;
  int64_t measured_in_round_ = 0;
  int64_t start_ns_ = 0;
  bool recalibrated_ = false;  // and not solved with yet
};

}  // namespace fettle::tuner
