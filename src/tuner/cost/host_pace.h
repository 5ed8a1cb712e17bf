// How much longer the host takes to enqueue launches in a network than behind a gate. It is the
// same for all launches of a process, and differs from hour to hour: what else the host does
// decides.
#pragma once

#include "device/device.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// A factor of StepCost::host_us; a row of the store for each accelerator. Not synchronised.
class HostPaces {
 public:
  explicit HostPaces(Store& store) : store_(store) {}

  /// 1 where nothing is known.
  double Of(const Device& accelerator) const;

  /// A network whose launches took the host `seen_us`, where `priced_us` were said with what is
  /// known. What is new counts half.
  void Learn(const Device& accelerator, double priced_us, double seen_us);

 private:
  Store& store_;
};

}  // namespace fettle::tuner
