#include "passes/view_groups.h"

#include <algorithm>
#include <set>

#include "ops/op.h"

namespace fettle::passes {
namespace {

class ViewLister {
 public:
  ViewLister(const GraphIndex& index, std::vector<Group>& groups)
      : index_(index), graph_(index.graph()), groups_(groups) {}

  void Run() {
    for (ir::NodeId id : graph_.nodes().ids()) {
      if (IsMember(id) && EndsHere(id)) List(id);
    }
  }

 private:
  bool Moves(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    return node.outputs.size() == 1 && node.op->Has(ir::Trait::kMovesElements);
  }
  bool Copies(ir::NodeId id) const {
    return Moves(id) && !graph_.node(id).op->Has(ir::Trait::kKeepsBytes);
  }
  bool IsMember(ir::NodeId id) const { return Moves(id) || IsElementwise(graph_.node(id)); }

  /// Whether what reads the result cannot take the node in; behind element-wise operators other
  /// groups may begin, which take moves in.
  bool EndsHere(ir::NodeId id) const {
    const ir::NodeId next = index_.Next(id);
    return next < 0 || !IsMember(next) || (!Moves(id) && Moves(next));
  }

  bool IsReadByMembers(ir::NodeId id, const std::vector<ir::NodeId>& members) const {
    const ir::ValueId result = index_.Result(id);
    return result != ir::kAbsent && !index_.IsOutput(result) &&
           std::ranges::all_of(index_.Readers(result), [&](ir::NodeId reader) {
             return std::ranges::find(members, reader) != members.end();
           });
  }

  void List(ir::NodeId end) {
    std::vector<ir::NodeId> members;
    std::set<ir::NodeId> next = {end};
    while (!next.empty() && members.size() < kMaxGroupNodes) {
      // By falling ids, so that all readers of a node were looked at before it.
      const ir::NodeId id = *next.rbegin();
      next.erase(id);
      if (!IsMember(id) || (id != end && !IsReadByMembers(id, members))) continue;
      members.push_back(id);
      for (ir::ValueId input : graph_.node(id).inputs) {
        const ir::NodeId maker = index_.Maker(input);
        if (maker >= 0) next.insert(maker);
      }
    }
    const auto copies = std::ranges::count_if(members, [&](ir::NodeId id) { return Copies(id); });
    const auto computes = std::ranges::count_if(members, [&](ir::NodeId id) { return !Moves(id); });
    if (copies == 0 || computes == 0) return;
    std::ranges::reverse(members);
    groups_.push_back({std::move(members), {index_.Result(end)}, "views"});
  }

  const GraphIndex& index_;
  const ir::Graph& graph_;
  std::vector<Group>& groups_;
};

}  // namespace

void ListViewGroups(const GraphIndex& index, std::vector<Group>& groups) {
  ViewLister(index, groups).Run();
}

}  // namespace fettle::passes
