// What ListGroups lists of a graph, as texts, and that it is sound.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "equivalence.h"
#include "passes/groups.h"

namespace fettle::passes {

/// "pattern: Op Op", once per group.
inline std::vector<std::string> Listed(const ir::Graph& graph) {
  std::vector<std::string> texts;
  for (const Group& group : ListGroups(graph)) {
    std::string text(group.pattern);
    text += ":";
    for (ir::NodeId id : group.nodes) text += fmt::format(" {}", graph.node(id).op);
    texts.push_back(text);
  }
  return texts;
}

/// No path may leave a group and come back: the quotient graph must stay free of cycles.
inline bool IsConvex(const ir::Graph& graph, const Group& group) {
  const std::set<ir::NodeId> members(group.nodes.begin(), group.nodes.end());
  std::vector<bool> tainted(graph.values().size());  // reached from a member through an outsider
  for (ir::NodeId id = 0; static_cast<size_t>(id) < graph.nodes().size(); ++id) {
    const bool inside = members.contains(id);
    bool reached = false;
    for (ir::ValueId input : graph.node(id).inputs) {
      if (input == ir::kAbsent) continue;
      if (inside && tainted[static_cast<size_t>(input)]) return false;
      reached |= tainted[static_cast<size_t>(input)];
      const auto producers = graph.Producers();
      const ir::NodeId producer = producers[static_cast<size_t>(input)];
      reached |= !inside && producer >= 0 && members.contains(producer);
    }
    for (ir::ValueId output : graph.node(id).outputs) {
      if (output != ir::kAbsent && !inside && reached) tainted[static_cast<size_t>(output)] = true;
    }
  }
  return true;
}

inline void ExpectSound(const ir::Graph& graph) {
  for (const Group& group : ListGroups(graph)) {
    EXPECT_TRUE(std::is_sorted(group.nodes.begin(), group.nodes.end()));
    EXPECT_TRUE(IsConvex(graph, group));
    const Fragment fragment = ExtractGroup(graph, group);
    EXPECT_TRUE(ir::Verify(*fragment.graph).ok()) << ir::Print(*fragment.graph);
    const Fragment slow = GroupCutter(graph).Cut(group.nodes);
    EXPECT_EQ(fragment.outputs, slow.outputs) << ir::Print(*fragment.graph);
  }
}

}  // namespace fettle::passes
