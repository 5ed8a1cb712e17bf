// Which passes found something to do for shapes of one model, so that further ones ask those alone.
#pragma once

#include <vector>

#include "passes/outline.h"

namespace fettle::passes {

/// Of a session's graph. Passes are rewrites that may be left out: what is not asked for a shape
/// costs at most a faster form of it, never a value. All passes run for the first kAsked shapes of
/// a neighbourhood (Distance); what changed any of these graphs runs for the others near them. A
/// bounded number of outlines is kept, the last ones. Belongs to one thread.
class PassHistory {
 public:
  static constexpr size_t kAsked = 2, kMostKept = 16;

  /// The passes to run on a graph of this outline, swept: one entry per Passes(); empty: all.
  std::vector<bool> ChosenFor(const Outline& outline) const;
  /// Keeps what all passes did to a graph that had this outline: one entry per Passes(), or empty
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
