// Tightening bounds by what is taken for granted (extract.h, Assumptions).
#pragma once

#include <vector>

#include "planner/cost_source.h"
#include "planner/extract.h"

namespace fettle::planner {

/// Keeps an order among equal bounds.
inline constexpr double kJustBehind = 1.0001;

/// Raises the bounds of entries on one thread where that gained nothing in several kinds of groups
/// that take no longer (Entry::base). `prices` are by kind and entry.
void AssumeOfChanges(const Catalogue& catalogue, std::vector<std::vector<EntryCost>>& prices);

/// Takes away a kernel on the first nodes of a group that it also computes whole, in the same way,
/// where no other group may take the rest; where one may (a sum of two convolutions), raises its
/// bound to the measured fused time less the least that the other nodes can take.
void AssumeOfFusion(const Catalogue& catalogue, Extracted& extracted);

}  // namespace fettle::planner
