// The time of a run beside its steps, where an accelerator computes some of them: work is handed
// over, waited for and read back. Learned from whole networks that ran, used for others.
#pragma once

#include <span>

#include "exec/plan.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// A network that ran: what its steps were predicted to take and what it took, in microseconds, and
/// how often the host waited for the accelerator.
struct RunSample {
  double steps_us = 0;
  double run_us = 0;
  int waits = 1;
};

/// How often a run of `plan` waits for `accelerator`: once for each tensor that comes back, at
/// least once where it computes anything, else never.
int WaitsFor(const exec::Plan& plan, const Device& accelerator);

/// The mean over all waits, shrunk towards none the fewer networks have run; a row of the store for
/// each accelerator. Not synchronised.
class RunOverheads {
 public:
  explicit RunOverheads(Store& store) : store_(store) {}

  /// Microseconds of one wait; 0 where nothing is known, or where predictions would have been worse
  /// with what was known before each of the networks that ran.
  double Us(const Device& accelerator) const;
  /// Those of all waits of a run of `plan` for the accelerators of `devices`.
  double Us(const exec::Plan& plan, const DeviceSet& devices) const;

  void Learn(const Device& accelerator, const RunSample& sample);

 private:
  struct Evidence {
    double mean_us = 0;  // of a wait
    double runs = 0;
    double off_with_us = 0, off_without_us = 0;  // sums of how far predictions were off
    double ShrunkUs() const;
  };
  Evidence Known(const Device& accelerator) const;

  Store& store_;
};

}  // namespace fettle::tuner
