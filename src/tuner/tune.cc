#include "tuner/tune.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "planner/extract.h"
#include "planner/planner.h"
#include "planner/restrict.h"
#include "tuner/learned_costs.h"

namespace fettle::tuner {
namespace {

using planner::Entry;
using planner::EntryCost;
using planner::Kind;

/// Share of the default parameters' time below which no neighbour of them is expected.
constexpr double kLeastOfDefault = 0.75;

/// Of the least that problems of a kernel took beyond their bounds, the share that others take too.
constexpr double kLeastEfficiency = 0.75;

/// Steps up to which outputs are verified whole where time does not matter.
constexpr int64_t kThoroughMacs = 50'000'000;

MeasureOptions MeasureOf(const TuneOptions& options) {
  MeasureOptions measure = options.measure;
  measure.deadline_ns = options.deadline_ns;
  if (options.level >= Level::kWide)
    measure.whole_macs = std::max(measure.whole_macs, kThoroughMacs);
  return measure;
}

/// What a solver gets however late it is.
constexpr double kLeastSolveSeconds = 0.05;
/// Time kept for the last solution, in times of the one before.
constexpr double kRepeat = 1.5;

/// An entry by kind and index.
using EntryId = std::pair<int, int>;

class Tuner {
 public:
  Tuner(const ir::Graph& graph, const DeviceSet& devices, const planner::Limits& limits,
        const TuneOptions& options, Store& store, TuneReport& report)
      : graph_(graph),
        devices_(devices),
        limits_(limits),
        options_(options),
        store_(store),
        report_(report),
        costs_(devices, store),
        bench_(devices, MeasureOf(options)),
        now_ns_(options.measure.now_ns ? options.measure.now_ns : NowNs),
        allowance_(options.deadline_ns, now_ns_),
        start_(now_ns_()) {}

  Result<planner::Decision> Run() {
    costs_.Ban(options_.banned);
    costs_.AssumeEfficiency(EfficiencyOf(options_.level));
    ASSIGN_OR_RETURN(catalogue_,
                     ListCatalogue(graph_, devices_, limits_, BreadthOf(options_.level)));
    ASSIGN_OR_RETURN(const planner::Decision preferred,
                     planner::PreferredDecision(graph_, devices_, limits_));
    if (options_.level != Level::kNone) MeasureDecision(preferred);
    if (options_.everything) MeasureEverything();
    RETURN_IF_ERROR(Recall());
    Result<planner::Decision> decision = Search(preferred);
    report_.entries = costs_.asked();
    report_.reused = costs_.known();
    report_.priors = costs_.priors();
    report_.seconds = Seconds();
    return decision;
  }

 private:
  double Seconds() const { return static_cast<double>(now_ns_() - start_) * 1e-9; }

  bool MayMeasure() {
    return options_.level != Level::kNone && !interrupted_ && !allowance_.IsOver();
  }

  void Report(double predicted_us, size_t open) {
    if (!options_.progress) return;
    const TuneProgress progress{report_.measured, static_cast<int64_t>(open), Seconds(),
                                predicted_us};
    if (!options_.progress(progress)) interrupted_ = true;
  }

  const Kind& KindOf(EntryId id) const { return catalogue_.kinds[static_cast<size_t>(id.first)]; }
  const Entry& EntryOf(EntryId id) const {
    return KindOf(id).entries[static_cast<size_t>(id.second)];
  }
  EntryCost CostOf(EntryId id) { return costs_.Kernel(KindOf(id), EntryOf(id)); }
  bool IsOpen(EntryId id) {
    if (EntryOf(id).is_view) return false;
    const EntryCost cost = CostOf(id);
    return !cost.measured && cost.banned.empty();
  }

  Candidate CandidateOf(EntryId id) const {
    const Entry& entry = EntryOf(id);
    return {entry.kernel, KindOf(id).problem(entry), entry.params};
  }

  void Learn(EntryId id, const Row& row) {
    const Kind& kind = KindOf(id);
    const Entry& entry = EntryOf(id);
    costs_.LearnKernel(kind, entry, row);
    ++report_.measured;
    if (row.status == Row::Status::kOk || row.status == Row::Status::kStopped) return;
    report_.rejected.push_back(
        {std::string(entry.kernel->name), costs_.KernelKey(kind, entry).problem, row.reason});
  }

  /// Measures the entries of a plan that needs no costs, so that there always is a measured plan.
  void MeasureDecision(const planner::Decision& decision) {
    for (const planner::GroupDecision& group : decision.groups) {
      const auto instance =
          std::find_if(catalogue_.instances.begin(), catalogue_.instances.end(),
                       [&](const planner::Instance& one) { return one.nodes == group.nodes; });
      if (instance == catalogue_.instances.end()) continue;
      const Kind& kind = catalogue_.kinds[static_cast<size_t>(instance->kind)];
      for (size_t e = 0; e < kind.entries.size(); ++e) {
        const Entry& entry = kind.entries[e];
        const EntryId id{instance->kind, static_cast<int>(e)};
        if (entry.kernel->name == group.kernel && entry.states == group.states &&
            entry.threads == limits_.threads && entry.default_params && IsOpen(id)) {
          costs_.Excuse(kind, entry);
          MeasureOne(id, kNoLimit);
        }
      }
    }
  }

  void MeasureEverything() {
    for (size_t k = 0; k < catalogue_.kinds.size(); ++k) {
      for (size_t e = 0; e < catalogue_.kinds[k].entries.size(); ++e) {
        const EntryId id{static_cast<int>(k), static_cast<int>(e)};
        if (MayMeasure() && IsOpen(id)) MeasureOne(id, kNoLimit);
      }
    }
    const Result<planner::Extracted> extracted =
        Extract(graph_, catalogue_, costs_, limits_.threads, AssumptionsOf(options_.level));
    if (!extracted.ok()) return;
    for (size_t t = 0; t < extracted->values.size(); ++t) {
      for (const solver::Conversion& conversion : extracted->problem.tensors[t].conversions) {
        const std::vector<State>& states = extracted->states[t];
        if (MayMeasure())
          MeasureConversion(graph_.value(extracted->values[t]),
                            states[static_cast<size_t>(conversion.from)],
                            states[static_cast<size_t>(conversion.to)]);
      }
    }
  }

  /// Measures a conversion unless it is known; whether it was not.
  bool MeasureConversion(const ir::Value& value, const State& from, const State& to) {
    const EntryCost cost = costs_.Conversion(*value.shape, value.dtype, from, to, limits_.threads);
    if (cost.measured || !cost.banned.empty()) return false;
    const Effort effort = bench_.GuessConversion(*value.shape, from, to);
    if (!MayMeasure() || !Affords(effort)) return true;
    const Row row = allowance_.Spend(effort, [&] {
      return bench_.RunConversion(*value.shape, value.dtype, from, to, limits_.threads);
    });
    if (WasGivenUp(row)) return true;
    costs_.LearnConversion(*value.shape, value.dtype, from, to, limits_.threads, row);
    ++report_.measured;
    return true;
  }

  bool Affords(const Effort& effort) {
    if (allowance_.Affords(effort)) return true;
    ++report_.skipped;
    return false;
  }
  bool WasGivenUp(const Row& row) {
    const bool given_up = row.status == Row::Status::kStopped && row.samples == 0;
    report_.skipped += given_up ? 1 : 0;
    return given_up;
  }

  void MeasureOne(EntryId id, double limit) {
    const Candidate candidate = CandidateOf(id);
    const Effort effort = allowance_.limited() ? bench_.Guess(candidate, CostOf(id).us) : Effort();
    if (!MayMeasure() || !Affords(effort)) return;
    const RowKey key = costs_.KernelKey(KindOf(id), EntryOf(id));
    store_.BeginFlight(key);
    const Row row = allowance_.Spend(effort, [&] { return bench_.Run(candidate, limit); });
    store_.EndFlight(key);
    if (!WasGivenUp(row)) Learn(id, row);
  }

  /// The fastest measured entry of the same kind that reads and writes the same states.
  double BestOfStates(EntryId id) {
    double best = kNoLimit;
    const Kind& kind = KindOf(id);
    for (size_t e = 0; e < kind.entries.size(); ++e) {
      if (kind.entries[e].states != EntryOf(id).states) continue;
      const EntryCost cost = CostOf({id.first, static_cast<int>(e)});
      if (cost.measured && cost.banned.empty()) best = std::min(best, cost.us);
    }
    return best;
  }

  /// Measures `id`. A candidate that was stopped once is now part of an optimum by its bound, so it
  /// is timed to the end.
  void Measure(EntryId id) {
    const bool again = !stopped_.insert(id).second;
    const bool to_the_end = again || options_.level == Level::kFull;
    MeasureOne(id, to_the_end ? kNoLimit : BestOfStates(id));
  }

  /// What the solution uses and nobody has measured.
  std::set<EntryId> OpenEntries(const planner::Extracted& extracted,
                                const solver::Solution& solution) {
    std::set<EntryId> open;
    for (const solver::Pick& pick : solution.picks) {
      const auto g = static_cast<size_t>(pick.group);
      const EntryId id{catalogue_.instances[g].kind,
                       extracted.entries[g][static_cast<size_t>(pick.choice)]};
      if (IsOpen(id)) open.insert(id);
    }
    return open;
  }

  /// Measures the conversions that the solution uses; how many were open.
  int MeasureConversions(const planner::Extracted& extracted, const solver::Solution& solution) {
    int open = 0;
    for (const solver::Made& made : solution.conversions) {
      const auto t = static_cast<size_t>(made.tensor);
      const solver::Conversion& conversion =
          extracted.problem.tensors[t].conversions[static_cast<size_t>(made.conversion)];
      const ir::Value& value = graph_.value(extracted.values[t]);
      const State& from = extracted.states[t][static_cast<size_t>(conversion.from)];
      const State& to = extracted.states[t][static_cast<size_t>(conversion.to)];
      open += MeasureConversion(value, from, to) ? 1 : 0;
    }
    return open;
  }

  /// Asks the store for everything: what is known of some entries bounds others, in whatever order
  /// they are priced.
  Status Recall() {
    return Extract(graph_, catalogue_, costs_, limits_.threads, AssumptionsOf(options_.level))
        .status();
  }

  Result<solver::Solution> Solve(const planner::Extracted& extracted) {
    const int64_t start = NowNs();
    solver::Options options = options_.solver;
    options.seconds =
        std::min(options.seconds, std::max(allowance_.Left() / 4, kLeastSolveSeconds));
    Result<solver::Solution> solution = solver::Solve(extracted.problem, options, &report_.solver);
    report_.solve_seconds += static_cast<double>(NowNs() - start) * 1e-9;
    ++report_.rounds;
    return solution;
  }

  /// Solves, measures what the optimum uses, and solves again until it uses nothing unmeasured.
  Result<planner::Decision> Search(const planner::Decision& preferred) {
    while (true) {
      const double begin = Seconds();
      const int64_t measured = report_.measured;
      ASSIGN_OR_RETURN(
          planner::Extracted extracted,
          Extract(graph_, catalogue_, costs_, limits_.threads, AssumptionsOf(options_.level)));
      if (!options_.layout.empty())
        RETURN_IF_ERROR(planner::RestrictToLayout(options_.layout, extracted));
      CountChoices(extracted);
      const Result<solver::Solution> solved = Solve(extracted);
      if (!solved.ok() && options_.layout.empty()) return BestMeasured(preferred);
      ASSIGN_OR_RETURN(const solver::Solution solution, solved);
      // The last round repeats this much.
      allowance_.Keep(kRepeat * (Seconds() - begin));
      const std::set<EntryId> open = OpenEntries(extracted, solution);
      Report(solution.cost, open.size());
      const bool may_measure = MayMeasure();
      const int conversions = MeasureConversions(extracted, solution);
      if (open.empty() && conversions == 0) return Decide(extracted, solution);
      if (!may_measure) return BestMeasured(preferred);
      for (EntryId id : open) {
        if (!MayMeasure()) break;
        // Another kind of equal costs may have been measured meanwhile.
        if (IsOpen(id)) Measure(id);
      }
      if (report_.measured == measured) return BestMeasured(preferred);
    }
  }

  void CountChoices(const planner::Extracted& extracted) {
    report_.choices = 0;
    for (const solver::Group& group : extracted.problem.groups)
      report_.choices += std::ssize(group.choices);
  }

  /// After the end of the budget: the best plan of what was measured; the preferred one where that
  /// is none.
  Result<planner::Decision> BestMeasured(const planner::Decision& preferred) {
    report_.stopped = true;
    costs_.set_measured_only(options_.level != Level::kNone);
    const Result<planner::Extracted> extracted =
        Extract(graph_, catalogue_, costs_, limits_.threads, AssumptionsOf(options_.level));
    if (!extracted.ok()) return preferred;
    const Result<solver::Solution> solution = Solve(*extracted);
    if (!solution.ok()) return preferred;
    return Decide(*extracted, *solution);
  }

  planner::Decision Decide(const planner::Extracted& extracted, const solver::Solution& solution) {
    ListLossy(extracted, solution);
    return ToDecision(graph_, catalogue_, extracted, solution, limits_.threads);
  }

  /// What the solution's choices and conversions lose, and what each saves against the fastest
  /// choice of its group that loses nothing.
  void ListLossy(const planner::Extracted& extracted, const solver::Solution& solution) {
    for (const solver::Pick& pick : solution.picks) {
      const auto g = static_cast<size_t>(pick.group);
      const std::vector<solver::Choice>& choices = extracted.problem.groups[g].choices;
      const solver::Choice& choice = choices[static_cast<size_t>(pick.choice)];
      if (choice.error <= 0) continue;
      double exact = kNoLimit;
      for (const solver::Choice& other : choices)
        if (other.error <= 0) exact = std::min(exact, other.cost);
      const EntryId id{catalogue_.instances[g].kind,
                       extracted.entries[g][static_cast<size_t>(pick.choice)]};
      report_.lossy.push_back({costs_.KeyText(KindOf(id), EntryOf(id)),
                               std::string(EntryOf(id).kernel->name),
                               {choice.error, exact - choice.cost}});
    }
    for (const solver::Made& made : solution.conversions) {
      const auto t = static_cast<size_t>(made.tensor);
      const solver::Conversion& conversion =
          extracted.problem.tensors[t].conversions[static_cast<size_t>(made.conversion)];
      if (conversion.error <= 0) continue;
      const ir::Value& value = graph_.value(extracted.values[t]);
      const State& from = extracted.states[t][static_cast<size_t>(conversion.from)];
      const State& to = extracted.states[t][static_cast<size_t>(conversion.to)];
      report_.lossy.push_back({costs_.KeyText(*value.shape, value.dtype, from, to, limits_.threads),
                               "conversion",
                               {conversion.error, 0}});
    }
  }

  const ir::Graph& graph_;
  DeviceSet devices_;
  planner::Limits limits_;
  const TuneOptions& options_;
  Store& store_;
  TuneReport& report_;
  LearnedCosts costs_;
  Bench bench_;
  std::function<int64_t()> now_ns_;
  Allowance allowance_;
  int64_t start_;
  bool interrupted_ = false;
  planner::Catalogue catalogue_;
  std::set<EntryId> stopped_;  // measured against a limit before
};

}  // namespace

Result<Level> LevelFromName(std::string_view name) {
  constexpr std::string_view kNames[] = {"none", "fast", "normal", "wide", "full"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames))
    return InvalidArgument("level: expected none|fast|normal|wide|full, got '{}'", name);
  return static_cast<Level>(found - std::begin(kNames));
}

planner::Assumptions AssumptionsOf(Level level) {
  if (level == Level::kFull) return {};
  return {.least_of_default = level == Level::kWide ? 0.5 : kLeastOfDefault,
          .fusion_gains = true,
          .changes_repeat = level < Level::kWide};
}

double EfficiencyOf(Level level) { return level < Level::kWide ? kLeastEfficiency : 0; }

planner::Breadth BreadthOf(Level level) {
  if (level <= Level::kFast) return planner::Breadth::kDefaults;
  return level == Level::kNormal ? planner::Breadth::kNeighbours : planner::Breadth::kAll;
}

Result<planner::Decision> TuneGraph(const ir::Graph& graph, const DeviceSet& devices,
                                    const planner::Limits& limits, const TuneOptions& options,
                                    Store& store, TuneReport* report) {
  TuneReport unread;
  return Tuner(graph, devices, limits, options, store, report == nullptr ? unread : *report).Run();
}

}  // namespace fettle::tuner
