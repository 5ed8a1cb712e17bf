// The plan that run and bench take, beside another one of the same segments.
#pragma once

#include <string>

#include "device/device.h"
#include "exec/plan.h"

namespace fettle::tools {

struct PlanInUse {
  /// Where it comes from, as bench says: package|regime|similar|database|preferences.
  std::string origin;
  /// Groups of the plan beside it, and those of them that it computes in another way: together with
  /// other nodes, by another kernel, other parameters, states or threads.
  int64_t groups = 0, differing = 0;

  /// "run and bench take ..."
  std::string Text() const;
};

/// Counts the groups of one segment's plans; devices are those that both are for.
void CountDiffering(const exec::Plan& shown, const exec::Plan& used, const DeviceSet& devices,
                    PlanInUse& in_use);

}  // namespace fettle::tools
