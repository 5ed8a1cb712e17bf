// Matches for groups that differ only in extents from one that was matched.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A match that can also read other groups, without listing their states.
class MatchesNear {
 public:
  virtual ~MatchesNear() = default;
  /// As MatchGroup for `group`, with state `states` of this match as its only one. `group` may
  /// differ from this match's group in extents alone; an extent of 0 or 1 must be the same in both.
  /// What the result prepares does not need the result, and needs `group` only where it holds a
  /// share of it.
  virtual Result<std::unique_ptr<const Match>> MatchNear(
      const std::shared_ptr<const ir::Graph>& group, int states) const = 0;
};

}  // namespace fettle::kernels
