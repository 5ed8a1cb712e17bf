// A device that is not here as planning sees it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foreign/device_facts.h"
#include "jobs/options.h"
#include "kernels/kernel.h"
#include "planner/choices.h"
#include "tuner/cost/roofline.h"
#include "tuner/store/store.h"

namespace fettle::tools {

/// What is planned with: devices, a store with their ceilings over what a database holds, limits.
struct ForeignPlace {
  std::string file;
  std::unique_ptr<CpuDevice> cpu;
  std::shared_ptr<const Device> accelerator;  // null: the CPU alone
  std::shared_ptr<tuner::Store> store;        // what it is told is forgotten
  planner::Limits limits;
  std::vector<std::string> warnings;

  DeviceSet devices() const { return DeviceSet(*cpu, accelerator.get()); }
  /// What work takes at the ceilings of the facts.
  tuner::Limit LimitOf(const kernels::Work& work, bool beside_cpu) const;
};

/// From now on this process takes its processor for that of `facts` (AssumeCpu): no kernel may run
/// any more. `options`: --device, --threads, --precision and the like, as they would be there;
/// `database` (may be absent) is read.
Result<ForeignPlace> AssumePlace(const DeviceFacts& facts, const CommonOptions& options,
                                 const std::string& database);

/// The same options for what has to run here, on whatever device.
CommonOptions OptionsHere(const CommonOptions& options);

}  // namespace fettle::tools
