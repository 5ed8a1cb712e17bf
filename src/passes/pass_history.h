// Which passes changed graphs of one model at earlier shapes, so that further shapes run those
// alone.
#pragma once

#include <vector>

#include "passes/outline.h"

namespace fettle::passes {

/// Of a session's graph. Passes may be left out: a pass that does not run costs at most speed,
/// never correctness. All passes run for the first kAsked shapes of a neighbourhood (Distance). A
/// pass that changed any of these graphs runs for the others near them. Keeps a bounded number of
/// the latest outlines. Belongs to one thread.
class PassHistory {
 public:
  static constexpr size_t kAsked = 2, kMostKept = 16;

  /// The passes to run on a swept graph of this outline: one entry per Passes(); empty: all.
  std::vector<bool> ChosenFor(const Outline& outline) const;
  /// Keeps what the passes changed in a graph of this outline: one entry per Passes(), or empty
  /// where none changed it.
  void Keep(Outline outline, const std::vector<int>& fired);

 private:
  struct Known {
    Outline outline;
    std::vector<int> fired;
  };
  std::vector<Known> known_;  // oldest first
};

}  // namespace fettle::passes
