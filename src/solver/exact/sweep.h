// A sweep over the variables of a network that keeps, for each combination of values of the live
// ones, the cheapest way there. Exact unless a beam cuts it short.
#pragma once

#include <cstdint>
#include <optional>

#include "solver/network/network.h"

namespace fettle::solver {

struct SweepLimits {
  /// States kept after each variable.
  int64_t most_states = 1 << 20;
  /// More states than that: true keeps the cheapest and goes on, no longer exact; false gives up.
  bool is_beam = false;
  /// Steps (a state and a value of the next variable) after which it gives up.
  double most_steps = 1e18;
};

struct Swept {
  Cost cost = kForbidden;  // kForbidden: no assignment is allowed, or the beam lost them all
  Assignment values;
  bool is_exact = true;
  int64_t peak_states = 0;
};

/// The cheapest assignment; nothing where the limits made it give up. States that another one can
/// stand in for at no more cost, whatever comes, are dropped. Deterministic.
std::optional<Swept> Sweep(const Network& network, const SweepLimits& limits);

}  // namespace fettle::solver
