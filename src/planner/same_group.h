// Groups that are the same in graphs of two input shapes: what does not depend on what changed.
#pragma once

#include <optional>

#include "passes/groups.h"

namespace fettle::planner {

/// What passes::GroupCutter would cut `nodes` of `graph` out as, without a copy: `known`, a group
/// that was cut out of a graph of the same structure (passes::Outline), where operators,
/// attributes, types, shapes and constants are all the same. Names may differ. O(size of the
/// group).
std::optional<passes::Fragment> FragmentLike(const std::shared_ptr<const ir::Graph>& known,
                                             const ir::Graph& graph,
                                             const std::vector<ir::NodeId>& nodes);

/// What the values of `group`, which was cut out of `graph` as `nodes`, are there.
std::vector<ir::ValueId> ValuesInParent(const ir::Graph& group, const ir::Graph& graph,
                                        const std::vector<ir::NodeId>& nodes);

}  // namespace fettle::planner
