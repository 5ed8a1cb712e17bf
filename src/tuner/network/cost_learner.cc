#include "tuner/network/cost_learner.h"

#include <algorithm>

#include "device/compile_elsewhere.h"
#include "kernels/launch_tunables.h"

namespace fettle::tuner {
namespace {

using planner::Entry;
using planner::EntryCost;
using planner::Kind;

/// Steps up to which outputs are verified whole where time does not matter.
constexpr int64_t kThoroughMacs = 50'000'000;
/// Sets of a slot that are measured before the problem is solved again.
constexpr int kTurn = 4;

MeasureOptions MeasureOf(const TuneOptions& options) {
  MeasureOptions measure = options.measure;
  measure.deadline_ns = options.deadline_ns;
  if (options.level >= Level::kWide)
    measure.whole_macs = std::max(measure.whole_macs, kThoroughMacs);
  return measure;
}

}  // namespace

CostLearner::CostLearner(const planner::Catalogue& catalogue, const DeviceSet& devices,
                         const planner::Limits& limits, const TuneOptions& options, Store& store,
                         TuneReport& report)
    : catalogue_(catalogue),
      devices_(devices),
      threads_(limits.threads),
      options_(options),
      store_(store),
      report_(report),
      costs_(devices, store,
             SlotOptionsOf(options.level, limits.precision != planner::Precision::kHigh),
             options.measure.cold_constants, options.measure.cancelled),
      calibrated_(costs_, devices, store, options.bounds.memory_limit >= 0),
      bench_(devices, MeasureOf(options)),
      allowance_(options.deadline_ns, options.measure.now_ns) {}

bool CostLearner::IsOpen(EntryId id) {
  if (EntryOf(id).is_view) return false;
  const EntryCost cost = CostOf(id);
  return !cost.measured && cost.banned.empty() && !given_up_.contains(id);
}

bool CostLearner::MayMeasure() const {
  return options_.level != Level::kNone && !IsInterrupted() && !allowance_.IsOver() && lost().ok();
}

void CostLearner::Measure(const std::set<EntryId>& ids) {
  // In turns where compilers work on the sets of all entries at once.
  const int in_a_row = CompilesAtOnce() > 1 ? 1 : kTurn;
  std::map<EntryId, int> left;
  for (EntryId id : ids)
    left[id] = costs_.SlotOf(KindOf(id), EntryOf(id)).evaluations() == 0 ? 1 : kTurn;
  while (!left.empty() && MayMeasure()) {
    PrepareNext(left);
    for (auto next = left.begin(); next != left.end();) {
      auto& [id, sets] = *next;
      // Another kind of equal costs may have been measured meanwhile.
      bool goes_on = MayMeasure() && IsOpen(id);
      for (int i = 0; i < in_a_row && sets > 0 && goes_on; ++i, --sets)
        goes_on = MayMeasure() && MeasureNext(id);
      next = goes_on && sets > 0 ? std::next(next) : left.erase(next);
    }
  }
}

bool CostLearner::MeasureNext(EntryId id) {
  const Kind& kind = KindOf(id);
  const Entry& entry = EntryOf(id);
  const std::optional<kernels::Params> params = costs_.Ask(kind, entry);
  if (!params) return false;
  const bool to_the_end = costs_.SlotOf(kind, entry).to_the_end() || options_.level == Level::kFull;
  return MeasureUpTo(id, *params, to_the_end ? kNoLimit : BestOfStates(id));
}

void CostLearner::PrepareNext(const std::map<EntryId, int>& ids) {
  if (CompilesAtOnce() < 2) return;
  std::vector<Candidate> candidates;
  for (const auto& [id, sets] : ids) {
    const Kind& kind = KindOf(id);
    const Entry& entry = EntryOf(id);
    if (entry.kernel->device() == DeviceKind::kCpu || !IsOpen(id)) continue;
    if (const std::optional<kernels::Params> params = costs_.Ask(kind, entry); params)
      candidates.push_back({entry.kernel, kind.problem(entry), *params});
  }
  // What fails now fails again where it is measured, which says so.
  PrepareAhead(std::ssize(candidates), [&](int64_t i) {
    const auto& [kernel, problem, params] = candidates[i];
    if (MayMeasure())
      (void)kernels::PrepareWithLaunches(*kernel, problem, params,
                                         *devices_.Find(kernel->device()));
  });
}

void CostLearner::MeasureEntries() {
  for (size_t k = 0; k < catalogue_.kinds.size(); ++k) {
    for (size_t e = 0; e < catalogue_.kinds[k].entries.size(); ++e) {
      const EntryId id{static_cast<int>(k), static_cast<int>(e)};
      while (MayMeasure() && IsOpen(id)) {
        const std::optional<kernels::Params> params = costs_.Ask(KindOf(id), EntryOf(id));
        if (!params || !MeasureUpTo(id, *params, kNoLimit)) break;
      }
    }
  }
}

bool CostLearner::Race(EntryId id) {
  const Kind& kind = KindOf(id);
  const Entry& entry = EntryOf(id);
  if (entry.is_view || !MayMeasure() || !costs_.NeedsRace(kind, entry)) return false;
  const SlotSearch& slot = costs_.SlotOf(kind, entry);
  const std::vector<planner::Proposal> finalists = slot.finalists(options_.measure.finalists);
  std::vector<Candidate> candidates;
  std::vector<Row> known;
  for (const planner::Proposal& one : finalists) {
    candidates.push_back({entry.kernel, kind.problem(entry), one.params});
    known.push_back(slot.RowOf(one.params));
  }
  // Most races end much sooner, so nothing is learned from how long they take.
  if (allowance_.limited() && allowance_.Left() < 2e-3 * options_.measure.final_ms) return false;
  const std::vector<Row> rows = bench_.Race(candidates, known);
  costs_.TellRace(kind, entry, finalists, rows);
  ++report_.raced;
  return true;
}

bool CostLearner::Rematch(EntryId id, double least_gain_us) {
  const auto found = default_of_.find(id.first);
  if (found == default_of_.end() || found->second == id || rematched_.contains(id)) return false;
  if (!measured_.contains(id) && !measured_.contains(found->second)) return false;
  const Kind& kind = KindOf(id);
  std::vector<EntryCost> costs;
  std::vector<Candidate> candidates;
  std::vector<Row> known;
  for (EntryId one : {id, found->second}) {
    const Entry& entry = EntryOf(one);
    const SlotSearch& slot = costs_.SlotOf(kind, entry);
    costs.push_back(slot.cost_as_measured());
    if (entry.is_view || entry.kernel->device() != DeviceKind::kCpu || !costs.back().banned.empty())
      return false;
    const kernels::Params& params = costs.back().proposal->params;
    candidates.push_back({entry.kernel, kind.problem(entry), params});
    known.push_back(slot.RowOf(params));
  }
  if (costs[1].us - costs[0].us < least_gain_us || known[0].median_us <= 0) return false;
  if (!MayMeasure() ||
      (allowance_.limited() && allowance_.Left() < 2e-3 * options_.measure.final_ms))
    return false;
  rematched_.insert(id);
  const std::vector<Row> rows = bench_.Rematch(candidates, known);
  costs_.Correct(kind, EntryOf(id), candidates[0].params, rows[0]);
  costs_.Correct(kind, EntryOf(found->second), candidates[1].params, rows[1]);
  ++report_.raced;
  return true;
}

void CostLearner::MeasureDecision(const planner::Decision& decision) {
  for (const planner::GroupDecision& group : decision.groups) {
    const auto instance =
        std::find_if(catalogue_.instances.begin(), catalogue_.instances.end(),
                     [&](const planner::Instance& one) { return one.nodes == group.nodes; });
    if (instance == catalogue_.instances.end()) continue;
    const Kind& kind = catalogue_.kinds[instance->kind];
    for (size_t e = 0; e < kind.entries.size(); ++e) {
      const Entry& entry = kind.entries[e];
      const EntryId id{instance->kind, static_cast<int>(e)};
      const int threads = group.threads == 0 ? threads_ : group.threads;
      if (entry.kernel->name != group.kernel || entry.states != group.states ||
          entry.threads != threads)
        continue;
      default_of_.emplace(instance->kind, id);
      calibrated_.Favour(entry);
      if (IsOpen(id)) {
        costs_.Excuse(kind, entry);
        preferred_.insert(id);
        const auto params = costs_.SlotOf(kind, entry).AskDefault();
        if (params && MayMeasure()) MeasureUpTo(id, *params, kNoLimit);
      }
    }
  }
}

bool CostLearner::MeasureConversion(const ir::Value& value, const State& from, const State& to) {
  const EntryCost cost = costs_.Conversion(*value.shape, value.dtype, from, to, threads_);
  if (cost.measured || !cost.banned.empty()) return false;
  const Effort effort = bench_.GuessConversion(*value.shape, from, to);
  if (!MayMeasure() || !Affords(effort)) return true;
  const Row row = allowance_.Spend(
      effort, [&] { return bench_.RunConversion(*value.shape, value.dtype, from, to, threads_); });
  if (WasGivenUp(row)) return true;
  costs_.learned().LearnConversion(*value.shape, from, to, threads_, row);
  ++report_.measured;
  return true;
}

double CostLearner::BestOfStates(EntryId id) {
  double best = kNoLimit;
  const Kind& kind = KindOf(id);
  for (const Entry& entry : kind.entries) {
    if (entry.is_view || entry.states != EntryOf(id).states) continue;
    best = std::min(best, costs_.SlotOf(kind, entry).best_us());
  }
  return best;
}

bool CostLearner::MeasureUpTo(EntryId id, const kernels::Params& params, double limit_us) {
  const Kind& kind = KindOf(id);
  const Entry& entry = EntryOf(id);
  const Candidate candidate{entry.kernel, kind.problem(entry), params};
  const Effort effort = allowance_.limited() ? bench_.Guess(candidate, CostOf(id).us) : Effort();
  if (!MayMeasure()) return false;
  if (!Affords(effort)) {
    GiveUp(id);
    return false;
  }
  const RowKey key = costs_.learned().KernelKey(kind, entry, params);
  store_.BeginFlight(key);
  const Row row = allowance_.Spend(effort, [&] { return bench_.Run(candidate, limit_us); });
  store_.EndFlight(key);
  if (WasGivenUp(row)) return false;
  Learn(id, params, row);
  return true;
}

void CostLearner::Learn(EntryId id, const kernels::Params& params, const Row& row) {
  const Kind& kind = KindOf(id);
  const Entry& entry = EntryOf(id);
  costs_.Tell(kind, entry, params, row);
  measured_.insert(id);
  ++report_.measured;
  if (row.status == Row::Status::kOk || row.status == Row::Status::kStopped) return;
  report_.rejected.push_back({std::string(entry.kernel->name),
                              costs_.learned().KernelKey(kind, entry, params).problem, row.reason});
}

/// What was measured of it counts, and is all that will be.
void CostLearner::GiveUp(EntryId id) {
  given_up_.insert(id);
  costs_.SlotOf(KindOf(id), EntryOf(id)).GiveUp();
  if (!preferred_.contains(id)) calibrated_.GiveUp(EntryOf(id));
}

bool CostLearner::Affords(const Effort& effort) {
  if (allowance_.Affords(effort)) return true;
  ++report_.skipped;
  return false;
}

bool CostLearner::WasGivenUp(const Row& row) {
  const bool given_up = row.status == Row::Status::kStopped && row.samples == 0;
  report_.skipped += given_up ? 1 : 0;
  return given_up;
}

}  // namespace fettle::tuner
