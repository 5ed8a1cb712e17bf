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
  /// The tensor that has the same bytes under another layout name (an NHWC tensor of one pixel is
  /// row-major too); -1: none.
  int same_bytes_as = -1;
  /// Its value in the planned graph; kAbsent where unknown.
  ir::ValueId value = ir::kAbsent;
};

/// One launch, on at most problem.threads threads (a conversion: on all threads of the run).
/// `kernel` is null for a conversion of its one input to its one output.
struct PlannedStep {
  const kernels::KernelDesc* kernel = nullptr;
  kernels::Problem problem;  // empty for a conversion
  /// The kernel's match of the problem's group, and the index of its states; null: matched again.
  std::shared_ptr<const kernels::Match> match;
  int states_index = 0;
  kernels::Params params;
  bool has_all_params = false;  // Setting::is_complete
  /// Where its kernel is kept for the same step of other plans; null: it is not kept.
  std::shared_ptr<KeptKernel> kept;
  std::vector<int> inputs;  // tensors, in the order of the group's inputs
  std::vector<int> outputs;
  /// The values of the problem's group in the planned graph; empty where unknown.
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
  /// The input shapes ("x 1x3x32x320") of the plan whose decisions were taken over; empty: its own.
  std::string carried_from;
};

/// The names of the nodes that a step computes, joined by '+'; empty for a conversion.
std::string NodesOf(const PlannedStep& step);

/// kCorrupt unless the chains of `plan` are in order, and each has at least two steps, all of one
/// device beside the CPU without the host, and a valid number of work-groups.
Status CheckChains(const Plan& plan);
/// Whether step `index` may be part of one, as far as the plan says.
bool MayChain(const Plan& plan, int index);

/// Where a step runs: on its kernel's device; a conversion beside the CPU if either of its tensors
/// is there.
DeviceKind DeviceOf(const Plan& plan, const PlannedStep& step);

}  // namespace fettle::exec
