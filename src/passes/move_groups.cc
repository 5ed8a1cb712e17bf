#include "passes/move_groups.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::passes {
namespace {

class MoveLister {
 public:
  explicit MoveLister(const ir::Graph& graph)
      : graph_(graph),
        producers_(graph.Producers()),
        consumers_(graph.Consumers()),
        is_output_(graph.values().size()) {
    for (ir::ValueId id : graph.outputs) is_output_[id] = true;
  }

  std::vector<Group> Run() {
    for (ir::ValueId id : graph_.inputs) List(id);
    for (ir::NodeId id : graph_.nodes().ids()) {
      if (Moves(id)) continue;
      for (ir::ValueId output : graph_.node(id).outputs)
        if (output != ir::kAbsent) List(output);
    }
    return std::move(groups_);
  }

 private:
  bool Moves(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    return node.outputs.size() == 1 && node.op->Has(ir::Trait::kMovesElements);
  }

  /// What of `source` and of results of `members` the computed operands of a node are: all of them.
  bool ReadsAlone(ir::NodeId id, ir::ValueId source, const std::vector<ir::NodeId>& members) const {
    return std::ranges::all_of(graph_.node(id).inputs, [&](ir::ValueId input) {
      if (input == ir::kAbsent || input == source || graph_.value(input).is_constant()) return true;
      const ir::NodeId producer = producers_[input];
      return producer >= 0 && std::ranges::find(members, producer) != members.end();
    });
  }

  /// Whether others than members read the result of a member.
  bool IsOpen(ir::NodeId id, const std::vector<ir::NodeId>& members) const {
    const ir::ValueId result = graph_.node(id).outputs[0];
    return is_output_[result] || !std::ranges::all_of(consumers_[result], [&](ir::NodeId reader) {
             return std::ranges::find(members, reader) != members.end();
           });
  }

  void List(ir::ValueId source) {
    std::vector<ir::NodeId> members, longest;
    std::vector<ir::NodeId> next = consumers_[source];
    while (!next.empty() && members.size() < kMaxGroupNodes) {
      // In order of ids each node comes after its operands.
      const auto first = std::ranges::min_element(next);
      const ir::NodeId id = *first;
      std::erase(next, id);
      if (!Moves(id) || !ReadsAlone(id, source, members)) continue;
      members.push_back(id);
      const ir::ValueId result = graph_.node(id).outputs[0];
      next.insert(next.end(), consumers_[result].begin(), consumers_[result].end());
      const bool closes = std::ranges::all_of(
          members, [&](ir::NodeId member) { return member == id || !IsOpen(member, members); });
      if (closes) longest = members;
    }
    const auto copies = std::ranges::count_if(
        longest, [&](ir::NodeId id) { return !graph_.node(id).op->Has(ir::Trait::kKeepsBytes); });
    if (copies == 0 || longest.size() < 2) return;
    const ir::ValueId result = graph_.node(longest.back()).outputs[0];
    groups_.push_back({std::move(longest), {result}, "moves"});
  }

  const ir::Graph& graph_;
  IdVector<ir::ValueId, ir::NodeId> producers_;
  IdVector<ir::ValueId, std::vector<ir::NodeId>> consumers_;
  IdVector<ir::ValueId, bool> is_output_;
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> ListMoveGroups(const ir::Graph& graph) { return MoveLister(graph).Run(); }

}  // namespace fettle::passes
