// A decision: what a plan chose, as a value without pointers. Kept in packages and the database,
// and applied to a graph again.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/plan.h"

namespace fettle::planner {

/// One group and how it is computed.
struct GroupDecision {
  std::vector<ir::NodeId> nodes;  // of the graph that was planned, ascending
  std::string kernel;
  int version = 0;
  kernels::Params params;
  kernels::StateAssignment states;
  int threads = 0;  // 0: as many as the session has
  /// Microseconds: measured alone while tuning, or 0 where nothing is known.
  double us = 0;

  bool operator==(const GroupDecision&) const = default;
};

/// A copy of a value in another state.
struct ConversionDecision {
  ir::ValueId value = 0;
  State from, to;
  double us = 0;

  bool operator==(const ConversionDecision&) const = default;
};

/// Groups in execution order; they cover each node once. A value that is read in another state than
/// it was written in is converted as `conversions` says, or else from the state in which it was
/// written.
struct Decision {
  std::vector<GroupDecision> groups;
  std::vector<ConversionDecision> conversions;
  /// Chains of the steps of the plan that Apply makes of this.
  std::vector<exec::StepChain> chains;
  double predicted_us = 0;  // 0: not predicted
  double measured_us = 0;   // of the whole graph; 0: not measured
  double gap = 0;           // certified, as a share; 0: optimal with regard to the costs
  uint64_t seed = 0;
  /// Where a range of shapes was tuned (regimes.h): the shapes of the graph's inputs at this size.
  std::vector<Shape> made_for;

  bool operator==(const Decision&) const = default;
};

/// On how many threads the groups of a decision run: as the decision says, or as many as are worth
/// waking at the current extents (small_steps.h).
enum class ThreadsOfGroups : uint8_t { kDecided, kAnew };

/// Makes the plan that `decision` describes for a session of `threads`. kVersionMismatch where a
/// kernel no longer exists, has another version or refuses its group; kCorrupt where groups do not
/// cover the graph or chains name other steps.
///
/// `known` (may be empty): steps of another plan for these groups, with the same devices, threads
/// and `counted`, in a graph of the same structure (passes::Outline) whose shapes may differ.
/// Groups that are the same in both are not matched again.
Result<exec::Plan> Apply(const ir::Graph& graph, const Decision& decision, const DeviceSet& devices,
                         int threads, ThreadsOfGroups counted = ThreadsOfGroups::kDecided,
                         std::span<const exec::PlannedStep> known = {});

/// Text form, a line for each item; parses back to an equal value. Parsing fails with kCorrupt,
/// naming the line.
std::string PrintDecision(const ir::Graph& graph, const Decision& decision);
Result<Decision> ParseDecision(const ir::Graph& graph, std::string_view text);
/// Decision::made_for of the text of a decision; nothing for any other text.
std::vector<Shape> MadeFor(std::string_view text);

}  // namespace fettle::planner
