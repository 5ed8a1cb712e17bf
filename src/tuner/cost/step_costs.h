// What the store knows of the steps of a plan.
#pragma once

#include <span>
#include <vector>

#include "exec/plan.h"
#include "tuner/cost/calibration.h"

namespace fettle::tuner {

/// A step of a plan, in microseconds: `alone_us` as measured, `us` in a network; both 0 where
/// nothing runs, or nobody has measured it and it is not `known`.
struct StepCost {
  StepClass of;
  std::string problem;  // the text of what it computes
  std::string kernel;   // as profiles name it
  double alone_us = 0;
  double us = 0;
  /// What the host takes in a network to enqueue it on a device that works meanwhile; 0: not known,
  /// or the host does nothing else in `us`, or the driver replays the launches of a run.
  double host_us = 0;
  bool known = false;
};

/// The time of a run of `steps`: the host enqueues while the devices work, so a run takes at least
/// as long as enqueuing takes.
double RunUs(std::span<const StepCost> steps);

/// The protocol by which a candidate is measured: constants of a CPU kernel may be cold.
int ProtocolOf(const kernels::KernelDesc& kernel, const ir::Graph& group, const Device& device,
               bool cold_constants);

/// One per step of `plan` for a session of `threads`, in order.
std::vector<StepCost> StepCostsOf(const exec::Plan& plan, const DeviceSet& devices, int threads,
                                  bool cold_constants, Store& store);

}  // namespace fettle::tuner
