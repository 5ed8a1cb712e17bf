// Several launches as one: a chain, whose work-groups are all on the device at once and meet
// between two of the launches, or a graph, whose launches a driver replays.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fettle {

/// A chain or graph that is built, with its arguments. It belongs to one stream, which outlives it.
class LaunchChain {
 public:
  virtual ~LaunchChain() = default;
  virtual Status Enqueue() = 0;
};

/// How launches are cut, as far as that decides which of them can be one chain.
struct LaunchForm {
  int launches = 0;
  int64_t items = 0;    // of the largest work-groups; 0: of any
  bool fits = true;     // none has more work-groups than the device has compute units
  bool mixes = false;   // the device has launches of smaller work-groups beside them in one chain
  std::string options;  // of the compiler, but for macros
  std::string refusal;  // why they can be part of no chain; empty: they can

  bool operator==(const LaunchForm&) const = default;
};

}  // namespace fettle
