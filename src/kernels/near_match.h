// Matches of groups that differ from one that was matched in extents alone.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A match that reads other groups too, without listing their states.
class MatchesNear {
 public:
  virtual ~MatchesNear() = default;
  /// What MatchGroup makes of `group`, which differs from the match's in extents alone, none of
  /// which is at most 1 in one of them only; with the one state `states` of this match. What it
  /// prepares needs neither it nor, but for what it owns of it, the group.
  virtual Result<std::unique_ptr<const Match>> MatchNear(
      const std::shared_ptr<const ir::Graph>& group, int states) const = 0;
};

}  // namespace fettle::kernels
