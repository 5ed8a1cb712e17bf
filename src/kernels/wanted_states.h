// Tells kernels which states their caller wants, so that they need not check others.
#pragma once

#include "kernels/kernel.h"

namespace fettle::kernels {

/// While it lives, whoever matches groups on its thread wants `states` alone. A kernel may leave
/// other states out of Match::states() where each costs something to check (such as an epilogue
/// that is compiled for it), and may refuse a group that it cannot compute in `states`. The states
/// that it lists are those it would list for any caller; so it keeps all that differ only in
/// storage, because AddCallersMemory looks at them together. `states` must outlive it. Objects may
/// be nested.
class WantedStates {
 public:
  explicit WantedStates(const StateAssignment& states);
  ~WantedStates();
  WantedStates(const WantedStates&) = delete;
  WantedStates& operator=(const WantedStates&) = delete;

  /// Whether nobody wants `states`, nor states that differ from them only in which inputs the
  /// caller binds.
  static bool LeaveOut(const StateAssignment& states);
  /// Whether nobody wants any state whose first input has this layout.
  static bool LeaveOutInput(const Layout& layout);

 private:
  const StateAssignment* before_;
};

}  // namespace fettle::kernels
