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

/// Groups in execution order; they cover each node once. A value that is read in a state in which
/// it was not written is converted as `conversions` says, or from the state in which it was written
/// where they do not name it.
struct Decision {
  std::vector<GroupDecision> groups;
  std::vector<ConversionDecision> conversions;
  /// Of the steps of the plan that this comes to (Apply).
  std::vector<exec::StepChain> chains;
  double predicted_us = 0;  // 0: not predicted
  double measured_us = 0;   // of the whole graph; 0: not measured
  double gap = 0;           // certified, as a share; 0: optimal with regard to the costs
  uint64_t seed = 0;
  /// Where a range of shapes was tuned (regimes.h): those of the graph's inputs at this size.
  std::vector<Shape> made_for;

  bool operator==(const Decision&) const = default;
};

/// On how many threads the groups of a decision run: as many as it says, or as many as are worth
/// waking for the extents at hand (small_steps.h).
enum class ThreadsOfGroups : uint8_t { kDecided, kAnew };

/// Makes the plan that `decision` describes for a session of `threads`. Fails with kVersionMismatch
/// where a kernel is gone, has another version or refuses its group, kCorrupt where groups do not
/// cover the graph, or where chains are not of its steps.
///
/// `known` (may be empty): what steps were for these groups, on these devices and threads and with
/// this `counted`, in a graph of the same structure (passes::Outline) and maybe other shapes.
/// Groups that are the same in both are not matched again.
Result<exec::Plan> Apply(const ir::Graph& graph, const Decision& decision, const DeviceSet& devices,
                         int threads, ThreadsOfGroups counted = ThreadsOfGroups::kDecided,
                         std::span<const exec::PlannedStep> known = {});

/// Text form, a line for each item; parses back to an equal value. Parsing fails with kCorrupt,
/// naming the line.
std::string PrintDecision(const ir::Graph& graph, const Decision& decision);
Result<Decision> ParseDecision(const ir::Graph& graph, std::string_view text);
/// Decision::made_for of the text of a decision; nothing of what is no such text.
std::vector<Shape> MadeFor(std::string_view text);

}  // namespace fettle::planner
