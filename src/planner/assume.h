// Raising bounds by assumptions (extract.h, Assumptions).
#pragma once

#include <vector>

#include "planner/cost_source.h"
#include "planner/extract.h"

namespace fettle::planner {

/// Keeps an order among equal bounds.
inline constexpr double kJustBehind = 1.0001;

/// Raises the bounds of entries on one thread where several kinds of groups that take no longer
/// gained nothing from one thread (Entry::base). `prices` are by kind and entry.
void AssumeOfChanges(const Catalogue& catalogue, std::vector<std::vector<EntryCost>>& prices);

/// For a kernel that computes a whole group as well as the group's first nodes alone: removes the
/// entry for the first nodes, in the same way of computing, where no other group may take the
/// remaining nodes. Where one may (a sum of two convolutions), raises that entry's bound to the
/// measured fused time less the least time of the remaining nodes.
void AssumeOfFusion(const Catalogue& catalogue, Extracted& extracted);

}  // namespace fettle::planner
