#include "tuner/network/slot_costs.h"

#include <algorithm>
#include <cstdio>

#include "kernels/params_text.h"
#include "tuner/store/candidate.h"
#include "tuner/store/row_key.h"

namespace fettle::tuner {
namespace {

/// Slots of a way in which the search gained nothing before none is expected in others, and what
/// counts as nothing.
constexpr size_t kHopelessSlots = 4;
constexpr double kNoGain = 0.98;
/// Sets of a slot after which it counts as searched.
constexpr size_t kSearched = 4;
/// Best sets of like slots that a slot begins with.
constexpr size_t kLikeSlots = 2;
constexpr size_t kMostFinalists = 4;

constexpr std::string_view kLosesAccuracy = "loses too much accuracy for the time it saves";
constexpr std::string_view kRaced = "raced", kEnded = "ended";

/// A kernel on groups that differ in extents and constants alone, whatever the states.
std::string WayOf(const planner::Kind& kind, const planner::Entry& entry) {
  std::string text = fmt::format("{} {}", entry.kernel->name, entry.threads);
  for (const ir::Node& node : kind.group->nodes())
    text += fmt::format(" {}{}", node.op, node.attributes.Int("group", 1) > 1 ? "/groups" : "");
  return text;
}

std::string RulesKey(const Device& device) {
  return fmt::format("rules on {}", Hardware(device.fingerprint()));
}

std::string LikeKey(const std::string& way, const Device& device) {
  return fmt::format("like {} on {}", way, Hardware(device.fingerprint()));
}

}  // namespace

SlotCosts::SlotCosts(const DeviceSet& devices, Store& store, const SlotOptions& options,
                     bool cold_constants, const std::atomic<bool>* cancelled)
    : learned_(devices, store, cold_constants, cancelled), store_(store), options_(options) {}

SlotCosts::Slot& SlotCosts::Find(const planner::Kind& kind, const planner::Entry& entry) {
  Slot*& known = by_entry_[&entry];
  if (known != nullptr) return *known;
  const RowKey key = learned_.KernelKey(kind, entry, entry.params);
  const std::string text =
      fmt::format("slot {} {}{} on {} for {}", key.kernel, key.version,
                  key.protocol == kColdProtocol ? " cold" : "", Hardware(key.device), key.problem);
  std::unique_ptr<Slot>& slot = slots_[text];
  if (slot == nullptr) {
    slot = std::make_unique<Slot>(Slot{text, WayOf(kind, entry), nullptr});
    slot->search = std::make_unique<SlotSearch>(
        entry.params, options_,
        [this, &kind, &entry, slot = slot.get()] { return MakeStart(kind, entry, *slot); });
    ways_[slot->way].push_back(slot.get());
    Recall(kind, entry, *slot);
  }
  known = slot.get();
  return *known;
}

void SlotCosts::RecallSet(const planner::Kind& kind, const planner::Entry& entry,
                          const planner::Proposal& proposal, Slot& slot) {
  if (banned_.contains(KeyText(kind, entry, &proposal)))
    slot.search->Ban(proposal.params, std::string(kLosesAccuracy));
  const Result<Row> row = learned_.FindKernel(kind, entry, proposal.params);
  if (proposal.is_default) learned_.CountEntry(row);
  if (row.ok()) slot.search->Recall(proposal, *row);
}

/// What earlier runs measured.
void SlotCosts::Recall(const planner::Kind& kind, const planner::Entry& entry, Slot& slot) {
  if (banned_.contains(KeyText(kind, entry, nullptr)))
    slot.search->Ban(std::nullopt, std::string(kLosesAccuracy));
  RecallSet(kind, entry, {entry.params, "default", true}, slot);
  slot.scope = options_.scope;
  if (entry.kernel->device() == DeviceKind::kCpu &&
      entry.match->params(entry.states_index, entry.threads).tunables.empty())
    slot.search->Close();
  RecallJournal(kind, entry, slot);
}

/// Lines "raced", "ended EVALUATIONS COMPILES RELAXED", and "BY PARAMS" for each set in order.
void SlotCosts::RecallJournal(const planner::Kind& kind, const planner::Entry& entry, Slot& slot) {
  const Result<std::string> journal = store_.FindDecision(slot.key);
  if (!journal.ok()) return;
  std::string_view rest = *journal;
  std::set<kernels::Params> seen{entry.params};
  SlotScope before{.compiles = false};
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    slot.raced = slot.raced || line == kRaced;
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string by(line.substr(0, space)), of(line.substr(space + 1));
    if (by == kEnded) {
      int64_t compiles = 0, relaxed = 0;
      if (std::sscanf(of.c_str(), "%ld %ld %ld", &slot.ended, &compiles, &relaxed) != 3)
        slot.ended = 0;
      before = {.compiles = compiles != 0, .relaxed_math = relaxed != 0};
    } else if (const auto params = kernels::ParseParams(of);
               params && seen.insert(*params).second) {
      RecallSet(kind, entry, {*params, by, false}, slot);
    }
  }
  const bool was_narrower = (slot.scope.compiles && !before.compiles) ||
                            (slot.scope.relaxed_math && !before.relaxed_math);
  slot.scope = {.compiles = slot.scope.compiles || before.compiles,
                .relaxed_math = slot.scope.relaxed_math || before.relaxed_math};
  if (was_narrower) {
    slot.ended = 0;
    if (options_.evaluations > 1) slot.search->Extend();
  } else if (options_.evaluations > 0 && slot.ended >= options_.evaluations) {
    slot.search->Close();
  }
}

void SlotCosts::AddKnown(const std::string& key, std::string by,
                         std::vector<planner::Proposal>& seeds) const {
  const Result<std::string> text = store_.FindDecision(key);
  if (!text.ok()) return;
  if (const auto params = kernels::ParseParams(*text); params && options_.scope.Allows(*params))
    seeds.push_back({*params, std::move(by), false});
}

std::string SlotCosts::BestKey(const planner::Kind& kind, const planner::Entry& entry) const {
  const RowKey key = learned_.KernelKey(kind, entry, entry.params);
  return fmt::format("best {} {} for {}", key.kernel, key.version, key.problem);
}

RuleBandit& SlotCosts::BanditOf(const Device& device) {
  const std::string key = RulesKey(device);
  const auto [at, is_new] = bandits_.try_emplace(key);
  if (!is_new) return at->second;
  if (const Result<std::string> text = store_.FindDecision(key); text.ok()) at->second.Read(*text);
  return at->second;
}

/// Sets of the rules that are worth it on this device, one of each in turn.
void SlotCosts::AddRules(const Device& device, SlotSearch::Start& start, Slot& slot) {
  // A search without assumptions takes the lists whole.
  const bool takes_all = options_.least_of_best == 0;
  const size_t most = takes_all
                          ? static_cast<size_t>(options_.evaluations)
                          : static_cast<size_t>(std::max<int64_t>(options_.evaluations / 4, 2));
  slot.rules = start.space.rules();
  std::vector<std::string> names;
  std::map<std::string, std::vector<const planner::Proposal*>> of_rule;
  for (const planner::Proposal& rule : slot.rules) {
    names.push_back(rule.by);
    of_rule[rule.by].push_back(&rule);
  }
  if (names.empty()) return;
  const std::vector<std::string> order = BanditOf(device).Order(names);
  std::set<kernels::Params> seen;
  bool is_heard = true;
  for (size_t turn = 0; is_heard; ++turn) {
    is_heard = false;
    for (const std::string& rule : order) {
      if (turn >= of_rule[rule].size() || start.seeds.size() >= most) continue;
      is_heard = true;
      if (seen.insert(of_rule[rule][turn]->params).second)
        start.seeds.push_back(*of_rule[rule][turn]);
    }
  }
}

/// All rules that propose the set learn from it.
void SlotCosts::TellRules(const Device& device, const kernels::Params& params, const Row& row,
                          Slot& slot) {
  const bool won =
      IsUsable(row) && LeastUs(row) < slot.search->best_us() * (1 - SlotResults::kWorthwhileGain);
  RuleBandit* bandit = nullptr;
  for (const planner::Proposal& rule : slot.rules) {
    if (rule.params != params) continue;
    bandit = &BanditOf(device);
    bandit->Tell(rule.by, won);
  }
  if (bandit != nullptr) store_.PutDecision(RulesKey(device), bandit->ToText());
}

/// Known good sets: of rules, the best of like slots here and in the store, the best of whatever
/// device had this problem last; then what is beside the default set.
std::optional<SlotSearch::Start> SlotCosts::MakeStart(const planner::Kind& kind,
                                                      const planner::Entry& entry, Slot& slot) {
  const Device& device = learned_.DeviceOf(entry);
  std::optional<SlotSpace> space =
      SlotSpace::Create(entry.match, entry.states_index, entry.threads, device, options_.scope);
  if (!space) return std::nullopt;
  SlotSearch::Start start{std::move(*space), {}};
  AddRules(device, start, slot);
  size_t likes = 0;
  for (const Slot* like : ways_[slot.way]) {
    if (like == &slot || likes == kLikeSlots || like->search->gain() >= kNoGain) continue;
    start.seeds.push_back({like->search->cost_as_measured().proposal->params, "like-slot", false});
    ++likes;
  }
  AddKnown(LikeKey(slot.way, device), "like-network", start.seeds);
  AddKnown(BestKey(kind, entry), "other-device", start.seeds);
  start.seeds.insert(start.seeds.end(), start.space.neighbours().begin(),
                     start.space.neighbours().end());
  return start;
}

/// Whether searching slots of the same way gained nothing so far.
bool SlotCosts::IsHopeless(const Slot& slot) const {
  const size_t own = slot.search->evaluations();
  if (!options_.habits || own == 0 || own >= kSearched) return false;
  size_t searched = 0;
  for (const Slot* other : ways_.at(slot.way)) {
    if (other->search->evaluations() < kSearched) continue;
    if (other->search->gain() < kNoGain) return false;
    ++searched;
  }
  return searched >= kHopelessSlots;
}

SlotSearch& SlotCosts::SlotOf(const planner::Kind& kind, const planner::Entry& entry) {
  Slot& slot = Find(kind, entry);
  slot.search->SetBounds(learned_.KernelBound(kind, entry), learned_.prior_share());
  slot.search->set_hopeless(IsHopeless(slot));
  return *slot.search;
}

planner::EntryCost SlotCosts::Kernel(const planner::Kind& kind, const planner::Entry& entry) {
  const SlotSearch& search = SlotOf(kind, entry);
  if (!measured_only_) return search.cost();
  planner::EntryCost cost = search.cost_as_measured();
  if (!cost.measured && excused_.contains(&Find(kind, entry))) return search.cost();
  return cost;
}

planner::EntryCost SlotCosts::Conversion(const Shape& shape, DType dtype, const State& from,
                                         const State& to, int threads) {
  return learned_.Conversion(shape, dtype, from, to, threads);
}

std::optional<kernels::Params> SlotCosts::Ask(const planner::Kind& kind,
                                              const planner::Entry& entry) {
  SlotSearch& search = SlotOf(kind, entry);
  const bool was_closed = search.is_closed();
  while (std::optional<kernels::Params> params = search.Ask()) {
    // A set that is asked for again was found wanting; what the store says of it is known.
    if (search.to_the_end()) return params;
    const Result<Row> row = learned_.FindKernel(kind, entry, *params);
    const bool is_known =
        row.ok() && (row->status == Row::Status::kOk || row->status == Row::Status::kWrong ||
                     row->status == Row::Status::kFailed);
    if (!is_known || (row->prior && search.PriorOf(*params) > 0)) return params;
    if (row->prior && row->status != Row::Status::kOk) return params;
    row->prior ? search.Postpone(*row) : search.Tell(*row);
    ++told_;
    Keep(kind, entry, Find(kind, entry));
  }
  // It may have nothing left to ask for, which is news too.
  if (search.is_closed() && !was_closed) {
    ++told_;
    Keep(kind, entry, Find(kind, entry));
  }
  return std::nullopt;
}

void SlotCosts::Tell(const planner::Kind& kind, const planner::Entry& entry,
                     const kernels::Params& params, const Row& row) {
  Slot& slot = Find(kind, entry);
  learned_.LearnKernel(kind, entry, params, slot.search->PriorOf(params), row);
  TellRules(learned_.DeviceOf(entry), params, row, slot);
  slot.search->Tell(row);
  ++told_;
  Keep(kind, entry, slot);
}

bool SlotCosts::NeedsRace(const planner::Kind& kind, const planner::Entry& entry) {
  const Slot& slot = Find(kind, entry);
  return !slot.raced && slot.search->finalists(kMostFinalists).size() > 1;
}

void SlotCosts::TellRace(const planner::Kind& kind, const planner::Entry& entry,
                         const std::vector<planner::Proposal>& finalists,
                         const std::vector<Row>& rows) {
  Slot& slot = Find(kind, entry);
  slot.raced = true;
  for (size_t i = 0; i < rows.size(); ++i) Correct(kind, entry, finalists[i].params, rows[i]);
  Keep(kind, entry, slot);
  KeepBest(kind, entry, slot);
}

void SlotCosts::Correct(const planner::Kind& kind, const planner::Entry& entry,
                        const kernels::Params& params, const Row& row) {
  PutTimes(learned_.KernelKey(kind, entry, params), row, store_);
  Find(kind, entry).search->Correct(params, row);
  ++told_;
}

/// Writes the journal; a slot of which the default set alone is known needs none, unless there is
/// nothing else to know.
void SlotCosts::Keep(const planner::Kind& kind, const planner::Entry& entry, Slot& slot) {
  const std::vector<planner::Proposal> proposals = slot.search->proposals();
  if (slot.search->is_finished()) slot.ended = std::max(slot.ended, options_.evaluations);
  if (options_.evaluations > 1 && (proposals.size() > 1 || slot.ended > 0)) {
    std::string text = slot.raced ? std::string(kRaced) + "\n" : "";
    text += fmt::format("{} {} {:d} {:d}\n", kEnded, slot.ended, slot.scope.compiles,
                        slot.scope.relaxed_math);
    for (const planner::Proposal& proposal : proposals)
      text += fmt::format("{} {}\n", proposal.by, kernels::PrintParams(proposal.params));
    store_.PutDecision(slot.key, text);
  }
  if (slot.search->is_closed() && !slot.is_kept) KeepBest(kind, entry, slot);
}

void SlotCosts::KeepBest(const planner::Kind& kind, const planner::Entry& entry, Slot& slot) {
  slot.is_kept = true;
  if (!slot.search->was_searched()) return;
  const planner::EntryCost cost = slot.search->cost_as_measured();
  if (cost.proposal == nullptr || cost.proposal->is_default) return;
  const std::string text = kernels::PrintParams(cost.proposal->params);
  store_.PutDecision(BestKey(kind, entry), text);
  if (slot.search->gain() < kNoGain)
    store_.PutDecision(LikeKey(slot.way, learned_.DeviceOf(entry)), text);
}

void SlotCosts::set_measured_only(bool only) {
  measured_only_ = only;
  learned_.set_measured_only(only);
}

void SlotCosts::Excuse(const planner::Kind& kind, const planner::Entry& entry) {
  excused_.insert(&Find(kind, entry));
}

void SlotCosts::Ban(const std::set<std::string>& keys) {
  banned_ = keys;
  learned_.Ban(keys);
}

std::string SlotCosts::KeyText(const planner::Kind& kind, const planner::Entry& entry,
                               const planner::Proposal* proposal) const {
  const bool is_exact = proposal == nullptr || SlotScope{}.Allows(proposal->params);
  const RowKey key = learned_.KernelKey(kind, entry, is_exact ? entry.params : proposal->params);
  return fmt::format("{}\n{}\n{}", key.kernel, key.params, key.problem);
}

}  // namespace fettle::tuner
