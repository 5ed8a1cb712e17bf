// A decision: what a plan chose, as a value without pointers. Kept in packages and the database,
// and applied to a graph again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "exec/plan.h"

namespace fettle::planner {

/// One group and how it is computed.
struct GroupDecision {
  std::vector<ir::NodeId> nodes;  // of the graph that was planned
  std::string kernel;
  int version = 0;
  kernels::Params params;
  kernels::StateAssignment states;
  int threads = 0;  // 0: as many as the session has
  /// Microseconds: measured alone while tuning, or a bound, or 0 where nothing is known.
  double us = 0;
};

/// A copy of a value in another state.
struct ConversionDecision {
  ir::ValueId value = 0;
  State from, to;
  double us = 0;
};

/// Groups in execution order; they cover each node once.
struct Decision {
  std::vector<GroupDecision> groups;
  std::vector<ConversionDecision> conversions;
  double predicted_us = 0;
  double measured_us = 0;  // of the whole graph, 0 where not measured
  double gap = 0;          // certified; 0: optimal with regard to the costs
  uint64_t seed = 0;
};

/// What a decision was made for.
struct DecisionKey {
  /// Hash of the graph's operators, attributes, edges and constants' types, without extents.
  uint64_t structure = 0;
  /// Hash of the same with all extents.
  uint64_t graph = 0;
  std::string device;  // Device::fingerprint()
  int threads = 0;

  bool operator==(const DecisionKey&) const = default;
};
DecisionKey KeyOf(const ir::Graph& graph, const Device& device, int threads);

/// Makes the plan that `decision` describes. Fails with kVersionMismatch where a kernel is gone,
/// has another version or refuses, kCorrupt where groups or conversions do not fit the graph.
Result<exec::Plan> Apply(const ir::Graph& graph, const Decision& decision, const Device& device,
                         int threads);

/// Text form; parses back to an equal value.
std::string PrintDecision(const ir::Graph& graph, const Decision& decision);
Result<Decision> ParseDecision(const ir::Graph& graph, std::string_view text);

/// The text of a decision that a book holds.
struct BookEntry {
  DecisionKey key;
  std::string text;
};

/// Decisions by key. Thread-safe.
class PlanBook {
 public:
  void Put(BookEntry entry);
  /// The text for exactly this key; empty: none.
  std::string Find(const DecisionKey& key) const;
  /// The text for a graph of equal structure, device and threads, but other extents: the one put
  /// last; empty: none.
  std::string FindSimilar(const DecisionKey& key) const;
  std::vector<BookEntry> entries() const;

 private:
  mutable std::mutex mutex_;
  std::vector<BookEntry> entries_;
};

}  // namespace fettle::planner
