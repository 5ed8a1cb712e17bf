// Recognises groups that are the same in graphs of two input shapes, because no changed extent
// reaches them.
#pragma once

#include <optional>

#include "passes/groups.h"

namespace fettle::planner {

/// The group that passes::GroupCutter would cut from `graph` as `nodes`, without a copy: it is
/// `known`, a group of a graph with the same structure (passes::Outline), where operators,
/// attributes, types, shapes and constants are all equal. Names may differ. O(size of the group).
std::optional<passes::Fragment> FragmentLike(const std::shared_ptr<const ir::Graph>& known,
                                             const ir::Graph& graph,
                                             const std::vector<ir::NodeId>& nodes);

/// The values in `graph` of the values of `group`, which was cut out of it as `nodes`.
std::vector<ir::ValueId> ValuesInParent(const ir::Graph& group, const ir::Graph& graph,
                                        const std::vector<ir::NodeId>& nodes);

}  // namespace fettle::planner
