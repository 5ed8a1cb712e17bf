// How much longer the host takes to enqueue launches in a network than behind a gate. The factor is
// the same for all launches of a process, and changes from hour to hour with the host's other work.
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

  /// Learns from a network whose launches took the host `seen_us`, where `priced_us` were predicted
  /// with the present factor. The new factor counts half.
  void Learn(const Device& accelerator, double priced_us, double seen_us);

 private:
  Store& store_;
};

}  // namespace fettle::tuner
