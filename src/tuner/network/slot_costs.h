// The costs of a catalogue's slots and of conversions, for the planner.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tuner/cost/learned_costs.h"
#include "tuner/network/rule_bandit.h"
#include "tuner/network/slot.h"

namespace fettle::tuner {

/// Slots of equal text are one, whatever kind they are of. The store keeps their rows and the order
/// of their sets, so that a later search continues, and the best set of a slot, with which other
/// slots begin. Entries must stay where they are. Not synchronised.
class SlotCosts final : public planner::CostSource {
 public:
  /// `cold_constants` and `cancelled`: LearnedCosts'.
  SlotCosts(const DeviceSet& devices, Store& store, const SlotOptions& options,
            bool cold_constants = false, const std::atomic<bool>* cancelled = nullptr);

  planner::EntryCost Kernel(const planner::Kind& kind, const planner::Entry& entry) override;
  planner::EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                                int threads) override;

  LearnedCosts& learned() { return learned_; }
  /// The slot of an entry, with the bounds of now.
  SlotSearch& SlotOf(const planner::Kind& kind, const planner::Entry& entry);
  /// SlotSearch::Ask, but for what the store answers.
  std::optional<kernels::Params> Ask(const planner::Kind& kind, const planner::Entry& entry);
  /// What measuring the set asked for gave; goes to the store.
  void Tell(const planner::Kind& kind, const planner::Entry& entry, const kernels::Params& params,
            const Row& row);
  /// Whether finalists are still to be raced; the rows of a race.
  bool NeedsRace(const planner::Kind& kind, const planner::Entry& entry);
  void TellRace(const planner::Kind& kind, const planner::Entry& entry,
                const std::vector<planner::Proposal>& finalists, const std::vector<Row>& rows);

  /// Another time of a set that was measured.
  void Correct(const planner::Kind& kind, const planner::Entry& entry,
               const kernels::Params& params, const Row& row);

  /// While set, slots count with what was measured alone; one that has nothing is banned, but for
  /// what is excused, which counts at its bound.
  void set_measured_only(bool only);
  void Excuse(const planner::Kind& kind, const planner::Entry& entry);
  /// Bans choices by their keys.
  void Ban(const std::set<std::string>& keys);
  /// What stands for an entry with the parameters of its cost: all of them, unless they are less
  /// exact than others of the slot.
  std::string KeyText(const planner::Kind& kind, const planner::Entry& entry,
                      const planner::Proposal* proposal) const;

  /// Changes with each answer of the store, each row learned and each slot that closes.
  int64_t told() const { return told_; }

 private:
  struct Slot {
    std::string key;  // of the memory and of its journal
    std::string way;
    std::unique_ptr<SlotSearch> search;
    bool raced = false, is_kept = false;
    /// The rules of each set that rules proposed.
    std::vector<planner::Proposal> rules;
    /// Of all searches so far, this one included: what they varied; and the evaluations of the
    /// largest one that ended, 0: none did.
    SlotScope scope;
    int64_t ended = 0;
  };
  Slot& Find(const planner::Kind& kind, const planner::Entry& entry);
  void Recall(const planner::Kind& kind, const planner::Entry& entry, Slot& slot);
  void RecallJournal(const planner::Kind& kind, const planner::Entry& entry, Slot& slot);
  void RecallSet(const planner::Kind& kind, const planner::Entry& entry,
                 const planner::Proposal& proposal, Slot& slot);
  std::optional<SlotSearch::Start> MakeStart(const planner::Kind& kind, const planner::Entry& entry,
                                             Slot& slot);
  void AddRules(const Device& device, SlotSearch::Start& start, Slot& slot);
  /// Of a device, with what the store knows of it.
  RuleBandit& BanditOf(const Device& device);
  void TellRules(const Device& device, const kernels::Params& params, const Row& row, Slot& slot);
  void AddKnown(const std::string& key, std::string by,
                std::vector<planner::Proposal>& seeds) const;
  bool IsHopeless(const Slot& slot) const;
  void Keep(const planner::Kind& kind, const planner::Entry& entry, Slot& slot);
  void KeepBest(const planner::Kind& kind, const planner::Entry& entry, Slot& slot);
  std::string BestKey(const planner::Kind& kind, const planner::Entry& entry) const;

  LearnedCosts learned_;
  Store& store_;
  SlotOptions options_;
  std::unordered_map<std::string, std::unique_ptr<Slot>> slots_;
  /// The same by entry: making texts would take longer than solving.
  std::unordered_map<const planner::Entry*, Slot*> by_entry_;
  std::unordered_map<std::string, std::vector<Slot*>> ways_;
  std::unordered_map<std::string, RuleBandit> bandits_;  // by key
  std::set<std::string> banned_;
  std::set<const Slot*> excused_;
  bool measured_only_ = false;
  int64_t told_ = 0;
};

}  // namespace fettle::tuner
