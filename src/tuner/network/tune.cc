#include "tuner/network/tune.h"

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "planner/extract.h"
#include "planner/planner.h"
#include "planner/restrict.h"
#include "tuner/network/cost_learner.h"
#include "tuner/network/lossy.h"
#include "tuner/predict/predicted_costs.h"

namespace fettle::tuner {
namespace {

/// What a solver gets however late it is.
constexpr double kLeastSolveSeconds = 0.05;
/// Time kept for the last solution, in times of the one before.
constexpr double kRepeat = 1.5;

class Tuner {
 public:
  Tuner(const ir::Graph& graph, const DeviceSet& devices, const planner::Limits& limits,
        const TuneOptions& options, Store& store, TuneReport& report)
      : graph_(graph),
        devices_(devices),
        limits_(limits),
        options_(options),
        report_(report),
        learner_(catalogue_, devices, limits, options_, store, report),
        now_ns_(options.measure.now_ns ? options.measure.now_ns : NowNs),
        start_(now_ns_()) {}

  Result<planner::Decision> Run() {
    costs().Ban(options_.banned);
    learned().AssumeEfficiency(EfficiencyOf(options_.level));
    ASSIGN_OR_RETURN(catalogue_, ListCatalogue(graph_, devices_, limits_));
    const DeviceSet preferred = options_.prefers_cpu ? DeviceSet(devices_.cpu()) : devices_;
    ASSIGN_OR_RETURN(preferred_, planner::PreferredDecision(graph_, preferred, limits_));
    // Asks the store for everything: what is known of some entries bounds others, in whatever order
    // they are priced.
    (void)ExtractProblem();
    if (options_.level != Level::kNone) MeasurePreferred();
    if (options_.level == Level::kNone) PredictUnseen();
    if (options_.everything) MeasureEverything();
    Result<planner::Decision> decision = Search();
    report_.entries = learned().asked();
    report_.reused = learned().known();
    report_.priors = learned().priors();
    report_.seconds = Seconds();
    RETURN_IF_ERROR(learner_.lost());
    return decision;
  }

 private:
  SlotCosts& costs() { return learner_.costs(); }
  LearnedCosts& learned() { return learner_.costs().learned(); }
  double Seconds() const { return static_cast<double>(now_ns_() - start_) * 1e-9; }

  Result<planner::Extracted> ExtractProblem() {
    if (options_.measure.await) options_.measure.await();
    planner::CostSource& costs =
        predicted_ ? static_cast<planner::CostSource&>(*predicted_) : learner_.costs_in_network();
    Result<planner::Extracted> extracted =
        Extract(graph_, catalogue_, costs, limits_.threads, AssumptionsOf(options_.level),
                options_.bounds, &preferred_);
    if (extracted.ok()) report_.warnings = extracted->warnings;
    return extracted;
  }

  /// Where nothing was measured and nothing will be, other devices say what kernels take.
  void PredictUnseen() {
    std::optional<TimeModel> model = ModelForUnseen(learned());
    if (!model) return;
    predicted_.emplace(learner_.costs_in_network(), learned(), *std::move(model));
    predicted_->Favour(catalogue_, preferred_, limits_.threads);
    report_.predicted = predicted_->Text();
  }

  /// The plan that needs no costs, so that there always is a measured plan.
  void MeasurePreferred() {
    learner_.MeasureDecision(preferred_);
    const Result<exec::Plan> plan = planner::Apply(graph_, preferred_, devices_, limits_.threads);
    if (!plan.ok()) return;
    for (const exec::PlannedStep& step : plan->steps) {
      if (step.kernel != nullptr) continue;
      const exec::PlannedTensor& from = plan->tensors[step.inputs[0]];
      const auto value = std::ranges::find(graph_.values(), from.name, &ir::Value::name);
      if (value != graph_.values().end())
        learner_.MeasureConversion(*value, from.state, plan->tensors[step.outputs[0]].state);
    }
  }

  void MeasureEverything() {
    learner_.MeasureEntries();
    const Result<planner::Extracted> extracted = ExtractProblem();
    if (!extracted.ok()) return;
    for (size_t t = 0; t < extracted->values.size(); ++t) {
      for (size_t c = 0; c < extracted->problem.tensors[t].conversions.size(); ++c) {
        if (learner_.MayMeasure())
          MeasureConversion(*extracted, {static_cast<int>(t), static_cast<int>(c)});
      }
    }
  }

  bool MeasureConversion(const planner::Extracted& extracted, const solver::Made& made) {
    const Copy copy = CopyOf(graph_, extracted, made);
    return learner_.MeasureConversion(copy.value, copy.from, copy.to);
  }

  /// Solves, lets the open slots that the optimum uses search, and solves again until all are
  /// closed; then once more after races of those sets that cannot be told apart, and of what seems
  /// faster than the default plan's.
  Result<planner::Decision> Search() {
    while (true) {
      const double begin = Seconds();
      const int64_t tried = Tried();
      Result<planner::Extracted> problem = ExtractProblem();
      if (!problem.ok())
        return BestMeasured(learner_.given_up() > 0 ? "" : problem.status().message());
      planner::Extracted extracted = std::move(problem).value();
      if (!options_.layout.empty())
        RETURN_IF_ERROR(planner::RestrictToLayout(options_.layout, graph_, extracted));
      CountChoices(extracted);
      const Result<solver::Solution> solved = Solve(extracted);
      if (!solved.ok() && options_.layout.empty() && !IsBounded(extracted))
        return BestMeasured(solved.status().message());
      ASSIGN_OR_RETURN(const solver::Solution solution, solved);
      // The last round repeats this much.
      learner_.allowance().Keep(kRepeat * (Seconds() - begin));
      const std::set<EntryId> open = OpenEntries(extracted, solution);
      Report(solution, open.size());
      const bool may_measure = learner_.MayMeasure();
      const int64_t conversions =
          std::count_if(solution.conversions.begin(), solution.conversions.end(),
                        [&](const auto& made) { return MeasureConversion(extracted, made); });
      if (open.empty() && conversions == 0) {
        if (RaceSlots(extracted, solution) || Rematch(extracted, solution)) continue;
        return learner_.given_up() == 0 ? Decide(extracted, solution) : BestMeasured();
      }
      if (!may_measure) return BestMeasured();
      learner_.Measure(open);
      if (Tried() == tried) return BestMeasured();
    }
  }

  /// Changes with whatever is learned of the costs.
  int64_t Tried() { return report_.measured + learner_.given_up() + costs().told(); }

  static bool IsBounded(const planner::Extracted& extracted) {
    return extracted.problem.memory_limit >= 0 || extracted.problem.error_budget >= 0;
  }

  Result<solver::Solution> Solve(const planner::Extracted& extracted) {
    if (options_.measure.await) options_.measure.await();
    const int64_t start = NowNs();
    solver::Options options = options_.solver;
    options.cancelled = options_.measure.cancelled;
    options.seconds =
        std::min(options.seconds, std::max(learner_.allowance().Left() / 4, kLeastSolveSeconds));
    Result<solver::Solution> solution = solver::Solve(extracted.problem, options, &report_.solver);
    report_.solve_seconds += static_cast<double>(NowNs() - start) * 1e-9;
    ++report_.rounds;
    return solution;
  }

  EntryId EntryOf(const planner::Extracted& extracted, const solver::Pick& pick) const {
    return EntryIdOf(catalogue_, extracted, pick);
  }

  /// What the solution uses and nobody has measured.
  std::set<EntryId> OpenEntries(const planner::Extracted& extracted,
                                const solver::Solution& solution) {
    std::set<EntryId> open;
    for (const solver::Pick& pick : solution.picks) {
      const EntryId id = EntryOf(extracted, pick);
      if (learner_.IsOpen(id)) open.insert(id);
    }
    return open;
  }

  /// Whether some were raced.
  bool RaceSlots(const planner::Extracted& extracted, const solver::Solution& solution) {
    const int64_t raced = report_.raced;
    for (const solver::Pick& pick : solution.picks) learner_.Race(EntryOf(extracted, pick));
    return report_.raced > raced;
  }

  /// Whether something ran again beside the default plan's choice: what was measured long after
  /// that one, or is the luckiest of many, may only seem faster.
  bool Rematch(const planner::Extracted& extracted, const solver::Solution& solution) {
    constexpr double kWorthALook = 0.005;  // of the whole plan
    const int64_t raced = report_.raced;
    for (const solver::Pick& pick : solution.picks)
      learner_.Rematch(EntryOf(extracted, pick), kWorthALook * solution.cost);
    return report_.raced > raced;
  }

  void Report(const solver::Solution& solution, size_t open) {
    // Without what was given up, costs are no bounds.
    if (learner_.given_up() == 0) {
      report_.open = static_cast<int64_t>(open);
      report_.bound_us = solution.bound / CalibratedCosts::kDoubt;
    }
    if (!options_.progress) return;
    const TuneProgress progress{report_.measured, static_cast<int64_t>(open), Seconds(),
                                solution.cost};
    if (!options_.progress(progress)) learner_.Interrupt();
  }

  void CountChoices(const planner::Extracted& extracted) {
    report_.choices = 0;
    for (const solver::Group& group : extracted.problem.groups)
      report_.choices += std::ssize(group.choices);
  }

  std::string ReasonToStop() const {
    if (options_.level == Level::kNone)
      return "the level none measures nothing" +
             (predicted_ ? ": the plan is " + predicted_->Text() : std::string());
    if (learner_.IsInterrupted()) return "interrupted";
    if (options_.deadline_ns > 0) return "the budget ended the search";
    return "some entries could not be measured";
  }

  /// Where the search ends early, because of `reason` (empty: as ReasonToStop says): the best plan
  /// of what was measured; the preferred one where that is none and nothing bounds it.
  Result<planner::Decision> BestMeasured(std::string_view reason = "") {
    if (learner_.IsCancelled()) return Error(StatusCode::kCancelled, "interrupted");
    report_.stopped = true;
    report_.end = reason.empty() ? ReasonToStop() : std::string(reason);
    costs().set_measured_only(options_.level != Level::kNone);
    const Result<planner::Extracted> extracted = ExtractProblem();
    if (!extracted.ok()) return preferred_;
    const Result<solver::Solution> solution = Solve(*extracted);
    if (!solution.ok() && IsBounded(*extracted)) return solution.status();
    if (!solution.ok()) return preferred_;
    planner::Decision decision = Decide(*extracted, *solution);
    decision.gap = decision.predicted_us <= 0
                       ? 1
                       : std::clamp(1 - report_.bound_us / decision.predicted_us, 0.0, 1.0);
    return decision;
  }

  planner::Decision Decide(const planner::Extracted& extracted, const solver::Solution& solution) {
    for (Lossy& one :
         ListLossy({graph_, catalogue_, extracted, solution}, limits_.threads, costs()))
      report_.lossy.push_back(std::move(one));
    return ToDecision(graph_, catalogue_, extracted, solution, limits_.threads);
  }

  const ir::Graph& graph_;
  DeviceSet devices_;
  planner::Limits limits_;
  TuneOptions options_;
  TuneReport& report_;
  planner::Catalogue catalogue_;
  planner::Decision preferred_;
  CostLearner learner_;
  std::optional<PredictedCosts> predicted_;
  std::function<int64_t()> now_ns_;
  int64_t start_;
};

}  // namespace

Result<planner::Decision> TuneGraph(const ir::Graph& graph, const DeviceSet& devices,
                                    const planner::Limits& limits, const TuneOptions& options,
                                    Store& store, TuneReport* report) {
  TuneReport unread;
  return Tuner(graph, devices, limits, options, store, report == nullptr ? unread : *report).Run();
}

}  // namespace fettle::tuner
