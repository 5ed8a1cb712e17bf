// What the store knows of the steps of a plan.
#pragma once

#include <vector>

#include "exec/plan.h"
#include "tuner/cost/calibration.h"

namespace fettle::tuner {

/// A step of a plan, in microseconds: `alone_us` as measured, `us` in a network; both 0 where
/// nothing runs, or nobody has measured it and it is not `known`.
struct StepCost {
  StepClass of;
  std::string kernel;  // as profiles of the CPU name it
  double alone_us = 0;
  double us = 0;
  bool known = false;
};

/// The protocol by which a candidate is measured: constants of a CPU kernel may be cold.
int ProtocolOf(const kernels::KernelDesc& kernel, const ir::Graph& group, bool cold_constants);

/// One per step of `plan` for a session of `threads`, in order.
std::vector<StepCost> StepCostsOf(const exec::Plan& plan, const DeviceSet& devices, int threads,
                                  bool cold_constants, Store& store);

}  // namespace fettle::tuner
