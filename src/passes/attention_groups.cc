#include "passes/attention_groups.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::passes {
namespace {

/// Bounds the work on networks that move elements forever.
constexpr size_t kMostMembers = 48;

class AttentionLister {
 public:
  AttentionLister(const GraphIndex& index, std::vector<Group>& groups)
      : index_(index), graph_(index.graph()), groups_(groups) {}

  void Run() {
    for (ir::NodeId id : graph_.nodes().ids()) {
      if (graph_.node(id).op == "Softmax"_op) List(id);
    }
  }

 private:
  void List(ir::NodeId softmax) {
    nodes_ = {softmax};
    const ir::NodeId behind = Follow(softmax);
    if (behind < 0 || !AddScores(softmax)) return;
    Emit(behind);
    const size_t core = nodes_.size();
    AddOperands();
    ir::NodeId last = behind;
    while (true) {
      const ir::NodeId next = Next(last);
      if (next < 0 || !Moves(next) || nodes_.size() == kMostMembers) break;
      nodes_.push_back(next);
      last = next;
    }
    if (nodes_.size() > core) Emit(last);
  }

  ir::NodeId Next(ir::NodeId id) const { return index_.Next(id); }
  bool Moves(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    return node.outputs.size() == 1 && (node.op->Has(ir::Trait::kKeepsBytes) ||
                                        node.op == "Transpose"_op || node.op == "Slice"_op);
  }
  /// Heads of keys and values that several heads of queries read, written out for each of these.
  bool Repeats(ir::NodeId id) const { return graph_.node(id).op == "Expand"_op; }
  bool IsNumber(ir::ValueId id) const {
    const ir::Value& value = graph_.value(id);
    return value.is_constant() && value.has_concrete_shape() && value.shape->elements() == 1;
  }
  bool Scales(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (node.op == "Div"_op) return IsNumber(node.inputs[1]);
    return node.op == "Mul"_op && (IsNumber(node.inputs[0]) || IsNumber(node.inputs[1]));
  }

  /// Where of a number and something else.
  bool Fills(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    return node.op == "Where"_op && (IsNumber(node.inputs[1]) || IsNumber(node.inputs[2]));
  }

  /// Adds what lies between `softmax` and the product that reads its result, and that; returns it,
  /// or -1.
  ir::NodeId Follow(ir::NodeId softmax) {
    ir::NodeId at = softmax;
    while (true) {
      const ir::NodeId next = Next(at);
      if (next < 0) return -1;
      nodes_.push_back(next);
      if (graph_.node(next).op == "MatMul"_op)
        return graph_.node(next).inputs[0] == graph_.node(at).outputs[0] ? next : -1;
      if (!graph_.node(next).op->Has(ir::Trait::kKeepsBytes) || nodes_.size() == kMostMembers)
        return -1;
      at = next;
    }
  }

  /// Adds the product before `softmax` and what lies between; false where there is none.
  bool AddScores(ir::NodeId softmax) {
    ir::NodeId at = softmax;
    while (nodes_.size() < kMostMembers) {
      ir::NodeId before = -1;
      for (ir::ValueId input : graph_.node(at).inputs) {
        const ir::NodeId producer = index_.Maker(input);
        if (producer >= 0 && Next(producer) == at && IsOfScores(producer)) {
          before = producer;
          break;
        }
      }
      if (before < 0) return false;
      nodes_.push_back(before);
      if (graph_.node(before).op == "MatMul"_op) return true;
      at = before;
    }
    return false;
  }
  bool IsOfScores(ir::NodeId id) const {
    const ir::OpRef op = graph_.node(id).op;
    return op == "MatMul"_op || op == "Add"_op || Scales(id) || Fills(id) ||
           op->Has(ir::Trait::kKeepsBytes);
  }

  /// Adds what makes operands of members for members alone.
  void AddOperands() {
    for (size_t i = 0; i < nodes_.size() && nodes_.size() < kMostMembers; ++i) {
      for (ir::ValueId input : graph_.node(nodes_[i]).inputs) {
        const ir::NodeId producer = index_.Maker(input);
        if (producer < 0 || IsMember(producer) ||
            !(Moves(producer) || Scales(producer) || Repeats(producer)) || index_.IsOutput(input) ||
            !std::ranges::all_of(index_.Readers(input),
                                 [&](ir::NodeId id) { return IsMember(id); }))
          continue;
        // What several members read is looked at behind the last of them.
        nodes_.push_back(producer);
      }
    }
  }
  bool IsMember(ir::NodeId id) const { return std::ranges::find(nodes_, id) != nodes_.end(); }

  void Emit(ir::NodeId last) {
    std::vector<ir::NodeId> nodes = nodes_;
    std::ranges::sort(nodes);
    groups_.push_back({std::move(nodes), {graph_.node(last).outputs[0]}, "attention"});
  }

  const GraphIndex& index_;
  const ir::Graph& graph_;
  std::vector<ir::NodeId> nodes_;  // of the group that is being listed
  std::vector<Group>& groups_;
};

}  // namespace

void ListAttentionGroups(const GraphIndex& index, std::vector<Group>& groups) {
  AttentionLister(index, groups).Run();
}

}  // namespace fettle::passes
