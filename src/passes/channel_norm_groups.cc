#include "passes/channel_norm_groups.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/normed_groups.h"

namespace fettle::passes {
namespace {

class ChannelNormLister {
 public:
  ChannelNormLister(const GraphIndex& index, std::vector<Group>& groups)
      : index_(index), graph_(index.graph()), groups_(groups) {}

  void Run() {
    for (ir::NodeId id : graph_.nodes().ids())
      if (NormalisesByConstants(graph_, graph_.node(id))) List(id);
  }

 private:
  using Row = std::vector<ir::NodeId>;

  /// A Transpose or a view, of which one other node at most reads the result.
  bool Moves(ir::NodeId id) const {
    if (id < 0) return false;
    const ir::Node& node = graph_.node(id);
    return node.outputs.size() == 1 &&
           (node.op == "Transpose"_op || node.op->Has(ir::Trait::kKeepsBytes));
  }
  bool Turns(ir::NodeId id) const { return graph_.node(id).op == "Transpose"_op; }

  /// The rows of nodes along `step` from `id` on that end with a Transpose or with one view behind
  /// it; and the empty one.
  template <typename Step>
  std::vector<Row> RowsFrom(ir::NodeId id, const Step& step) const {
    std::vector<Row> rows(1);
    Row row;
    bool has_turned = false;
    for (ir::NodeId next = step(id); Moves(next) && row.size() < 3; next = step(next)) {
      if (Turns(next) && has_turned) break;
      row.push_back(next);
      const bool is_behind = has_turned;
      has_turned |= Turns(next);
      if (has_turned) rows.push_back(row);
      if (is_behind) break;
    }
    return rows;
  }

  void List(ir::NodeId norm) {
    const auto before = [this](ir::NodeId id) {
      const ir::NodeId maker = index_.Maker(graph_.node(id).inputs[0]);
      return maker >= 0 && index_.Next(maker) == id ? maker : -1;
    };
    const std::vector<Row> fronts = RowsFrom(norm, before);
    const std::vector<Row> backs =
        RowsFrom(norm, [this](ir::NodeId id) { return index_.Next(id); });
    for (const Row& front : fronts) {
      for (const Row& back : backs) {
        if (front.empty() && back.empty()) continue;
        Group group{.nodes = {norm}, .pattern = "channels"};
        group.nodes.insert(group.nodes.end(), front.begin(), front.end());
        group.nodes.insert(group.nodes.end(), back.begin(), back.end());
        std::ranges::sort(group.nodes);
        group.outputs = {graph_.node(group.nodes.back()).outputs[0]};
        groups_.push_back(std::move(group));
      }
    }
  }

  const GraphIndex& index_;
  const ir::Graph& graph_;
  std::vector<Group>& groups_;
};

}  // namespace

void ListChannelNormGroups(const GraphIndex& index, std::vector<Group>& groups) {
  ChannelNormLister(index, groups).Run();
}

}  // namespace fettle::passes
