// A cost function network with a limit on the memory that is held at any step: the form of problems
// that are too big for elimination.
#pragma once

#include <cstdint>
#include <vector>

#include "solver/network/network.h"

namespace fettle::solver {

/// What indexes a vector.
inline size_t Index(int i) { return static_cast<size_t>(i); }

/// Value x of `variable` holds bytes[x] while steps begin .. end - 1 run.
struct Held {
  int variable = 0;
  int begin = 0;
  int end = 0;
  std::vector<int64_t> bytes;
};

/// The cost of `network` is minimised; what is held at a step may not exceed the step's capacity.
/// Costs may be negative here.
struct LimitedNetwork {
  Network network;
  std::vector<Held> held;
  /// Bytes, by step; empty: no limit. Negative where other things hold more than the limit.
  std::vector<int64_t> capacity;

  int steps() const { return static_cast<int>(capacity.size()); }
};

/// Bytes held at each step.
std::vector<int64_t> Load(const LimitedNetwork& problem, const Assignment& values);

/// True where no step holds more than its capacity.
bool Fits(const LimitedNetwork& problem, const Assignment& values);

/// Status of a problem given from outside: of the network, and steps, sizes and bytes in range.
Status Validate(const LimitedNetwork& problem);

}  // namespace fettle::solver
