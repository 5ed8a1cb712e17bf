// What somebody who asks a kernel about a group will do with the answer.
#pragma once

#include "kernels/kernel.h"

namespace fettle::kernels {

/// While it lives, what matches groups on its thread looks for `states` alone: kernels may leave
/// other states out of Match::states() where each costs something to check (an epilogue that is
/// compiled for it), and refuse a group that they cannot compute in these. What they list, they
/// list for any asker (so of states that differ in storage all stay: AddCallersMemory looks at
/// them together). `states` outlives it. Nests.
class WantedStates {
 public:
  explicit WantedStates(const StateAssignment& states);
  ~WantedStates();
  WantedStates(const WantedStates&) = delete;
  WantedStates& operator=(const WantedStates&) = delete;

  /// Whether `states`, and those that differ from them in which inputs the caller binds, are not
  /// looked for.
  static bool LeaveOut(const StateAssignment& states);
  /// The same of all states whose first input has this layout.
  static bool LeaveOutInput(const Layout& layout);

 private:
  const StateAssignment* before_;
};

}  // namespace fettle::kernels
