#include "tuner/network/cost_learner.h"

#include <algorithm>

namespace fettle::tuner {
namespace {

using planner::Entry;
using planner::EntryCost;
using planner::Kind;

/// Steps up to which outputs are verified whole where time does not matter.
constexpr int64_t kThoroughMacs = 50'000'000;

MeasureOptions MeasureOf(const TuneOptions& options) {
  MeasureOptions measure = options.measure;
  measure.deadline_ns = options.deadline_ns;
  if (options.level >= Level::kWide)
    measure.whole_macs = std::max(measure.whole_macs, kThoroughMacs);
  return measure;
}

}  // namespace

CostLearner::CostLearner(const planner::Catalogue& catalogue, const DeviceSet& devices, int threads,
                         const TuneOptions& options, Store& store, TuneReport& report)
    : catalogue_(catalogue),
      threads_(threads),
      options_(options),
      store_(store),
      report_(report),
      costs_(devices, store),
      bench_(devices, MeasureOf(options)),
      allowance_(options.deadline_ns, options.measure.now_ns) {}

bool CostLearner::IsOpen(EntryId id) {
  if (EntryOf(id).is_view) return false;
  const EntryCost cost = CostOf(id);
  return !cost.measured && cost.banned.empty();
}

bool CostLearner::MayMeasure() const {
  return options_.level != Level::kNone && !interrupted_ && !allowance_.IsOver();
}

void CostLearner::Measure(EntryId id) {
  const bool again = !stopped_.insert(id).second;
  const bool to_the_end = again || options_.level == Level::kFull;
  MeasureUpTo(id, to_the_end ? kNoLimit : BestOfStates(id));
}

void CostLearner::MeasureEntries() {
  for (size_t k = 0; k < catalogue_.kinds.size(); ++k) {
    for (size_t e = 0; e < catalogue_.kinds[k].entries.size(); ++e) {
      const EntryId id{static_cast<int>(k), static_cast<int>(e)};
      if (MayMeasure() && IsOpen(id)) MeasureUpTo(id, kNoLimit);
    }
  }
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
      if (entry.kernel->name == group.kernel && entry.states == group.states &&
          entry.threads == threads_ && entry.default_params && IsOpen(id)) {
        costs_.Excuse(kind, entry);
        MeasureUpTo(id, kNoLimit);
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
  costs_.LearnConversion(*value.shape, value.dtype, from, to, threads_, row);
  ++report_.measured;
  return true;
}

double CostLearner::BestOfStates(EntryId id) {
  double best = kNoLimit;
  const Kind& kind = KindOf(id);
  for (size_t e = 0; e < kind.entries.size(); ++e) {
    if (kind.entries[e].states != EntryOf(id).states) continue;
    const EntryCost cost = CostOf({id.first, static_cast<int>(e)});
    if (cost.measured && cost.banned.empty()) best = std::min(best, cost.us);
  }
  return best;
}

void CostLearner::MeasureUpTo(EntryId id, double limit_us) {
  const Entry& entry = EntryOf(id);
  const Candidate candidate{entry.kernel, KindOf(id).problem(entry), entry.params};
  const Effort effort = allowance_.limited() ? bench_.Guess(candidate, CostOf(id).us) : Effort();
  if (!MayMeasure() || !Affords(effort)) return;
  const RowKey key = costs_.KernelKey(KindOf(id), entry);
  store_.BeginFlight(key);
  const Row row = allowance_.Spend(effort, [&] { return bench_.Run(candidate, limit_us); });
  store_.EndFlight(key);
  if (!WasGivenUp(row)) Learn(id, row);
}

void CostLearner::Learn(EntryId id, const Row& row) {
  const Kind& kind = KindOf(id);
  const Entry& entry = EntryOf(id);
  costs_.LearnKernel(kind, entry, row);
  ++report_.measured;
  if (row.status == Row::Status::kOk || row.status == Row::Status::kStopped) return;
  report_.rejected.push_back(
      {std::string(entry.kernel->name), costs_.KernelKey(kind, entry).problem, row.reason});
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
