// A plan: which kernel computes what in which states, in which order. A value; the planner makes
// it, a Program runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace fettle::exec {

class KeptKernel;

/// One value in one state.
struct PlannedTensor {
  std::string name;
  Shape shape;
  State state;
  /// The tensor whose bytes these are under another layout name (an NHWC tensor of one pixel is
  /// row-major too); -1: none.
  int same_bytes_as = -1;
  /// In the graph that was planned; kAbsent where nobody said.
  ir::ValueId value = ir::kAbsent;
};

/// One launch, on at most problem.threads threads (a conversion: on all that the run has). `kernel`
/// is null for a conversion of its one input to its one output.
struct PlannedStep {
  const kernels::KernelDesc* kernel = nullptr;
  kernels::Problem problem;  // empty for a conversion
  /// What the kernel makes of the problem's group, and which of its states; null: asked anew.
  std::shared_ptr<const kernels::Match> match;
  int states_index = 0;
  kernels::Params params;
  bool has_all_params = false;  // Setting::is_complete
  /// Where its kernel is kept for the same step of other plans; null: nowhere.
  std::shared_ptr<KeptKernel> kept;
  std::vector<int> inputs;  // tensors, in the order of the group's inputs
  std::vector<int> outputs;
  /// What the values of the problem's group are in the graph that was planned; empty where nobody
  /// said.
  std::vector<ir::ValueId> values = {};
};

/// The steps from `begin` on that come before `end` in one launch (Stream::MakeChain) of `groups`
/// work-groups; 0: one for each of the device's compute units.
struct StepChain {
  int begin = 0, end = 0, groups = 0;
  bool operator==(const StepChain&) const = default;
};

/// Steps are in execution order: a tensor is written by one earlier step, or is an input.
struct Plan {
  std::vector<PlannedTensor> tensors;
  std::vector<PlannedStep> steps;
  std::vector<int> inputs;   // one per graph input: its `external` tensor, bound by the caller
  std::vector<int> outputs;  // one per graph output: a row-major planned tensor; -1 where the
                             // output is a constant
  std::vector<StepChain> chains;
  /// The kernels' preferences, nothing measured.
  bool is_default = false;
  /// The input shapes ("x 1x3x32x320") of the plan whose decisions these are; empty: its own.
  std::string carried_from;
};

/// The names of the nodes that a step computes, joined by '+'; empty for a conversion.
std::string NodesOf(const PlannedStep& step);

/// kCorrupt unless the chains of `plan` lie behind each other, each of two steps at least that one
/// device beside the CPU computes, without the host, by a number of work-groups that may be.
Status CheckChains(const Plan& plan);
/// Whether step `index` may be part of one, as far as the plan says.
bool MayChain(const Plan& plan, int index);

/// Where a step runs: its kernel's device; a conversion beside the CPU if it touches what is.
DeviceKind DeviceOf(const Plan& plan, const PlannedStep& step);

}  // namespace fettle::exec
