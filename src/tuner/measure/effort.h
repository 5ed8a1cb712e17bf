// How long a measurement is expected to take, before anything is known about it.
#pragma once

#include "kernels/kernel.h"

namespace fettle::tuner {

/// A guess at what measuring one candidate takes, in seconds on an imagined machine: `expecting`
/// for the oracle and the inputs, 0 where they are known; `running` for verifying and timing.
struct Effort {
  double expecting = 0;
  double running = 0;
};

/// Of a candidate for `problem` of which one launch takes about `us`, where the oracle has said
/// what is right.
Effort GuessKnown(const kernels::Problem& problem, double us);
/// The same where it has not: outputs are computed whole up to `whole` steps, on `threads`.
Effort GuessUnknown(const kernels::Problem& problem, double us, double whole, int threads);
/// Of a conversion.
Effort GuessCopy(const Shape& shape, const State& from, const State& to);

}  // namespace fettle::tuner
