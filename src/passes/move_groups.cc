#include "passes/move_groups.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::passes {
namespace {

class MoveLister {
 public:
  MoveLister(const GraphIndex& index, std::vector<Group>& groups)
      : index_(index), graph_(index.graph()), groups_(groups) {}

  void Run() {
    for (ir::ValueId id : graph_.inputs) List(id);
    for (ir::NodeId id : graph_.nodes().ids()) {
      if (Moves(id)) continue;
      for (ir::ValueId output : graph_.node(id).outputs)
        if (output != ir::kAbsent) List(output);
    }
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
      const ir::NodeId producer = index_.Maker(input);
      return producer >= 0 && std::ranges::find(members, producer) != members.end();
    });
  }

  /// Whether others than members read the result of a member.
  bool IsOpen(ir::NodeId id, const std::vector<ir::NodeId>& members) const {
    const ir::ValueId result = graph_.node(id).outputs[0];
    return index_.IsOutput(result) ||
           !std::ranges::all_of(index_.Readers(result), [&](ir::NodeId reader) {
             return std::ranges::find(members, reader) != members.end();
           });
  }

  void List(ir::ValueId source) {
    std::vector<ir::NodeId> members, longest;
    std::vector<ir::NodeId> next = index_.Readers(source);
    while (!next.empty() && members.size() < kMaxGroupNodes) {
      // In order of ids each node comes after its operands.
      const auto first = std::ranges::min_element(next);
      const ir::NodeId id = *first;
      std::erase(next, id);
      if (!Moves(id) || !ReadsAlone(id, source, members)) continue;
      members.push_back(id);
      const ir::ValueId result = graph_.node(id).outputs[0];
      const std::vector<ir::NodeId>& readers = index_.Readers(result);
      next.insert(next.end(), readers.begin(), readers.end());
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

  const GraphIndex& index_;
  const ir::Graph& graph_;
  std::vector<Group>& groups_;
};

}  // namespace

void ListMoveGroups(const GraphIndex& index, std::vector<Group>& groups) {
  MoveLister(index, groups).Run();
}

}  // namespace fettle::passes
