// Covering each node by exactly one group: the interface of every solver, and the greedy one.
#pragma once

#include <vector>

#include "planner/choices.h"

namespace fettle::planner {

/// A cover: groups that hold each node once, with the choices left open for the assignment of
/// states.
using Cover = std::vector<GroupChoices>;

/// Takes, from the first node on, the largest group that some kernel supports. Fails with
/// kUnsupported, naming the node and every kernel's reason, where a node has no choice at all.
Result<Cover> GreedyCover(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits);

/// The failure (kUnsupported) that no kernel computes `node`, with every kernel's reason.
Status NoChoice(const ir::Node& node, const GroupChoices& choices);

}  // namespace fettle::planner
