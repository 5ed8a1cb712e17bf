#include "passes/groups.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/attention_groups.h"
#include "passes/binary/bit_groups.h"
#include "passes/channel_norm_groups.h"
#include "passes/graph_index.h"
#include "passes/move_groups.h"
#include "passes/normed_groups.h"
#include "passes/rotary_groups.h"
#include "passes/sibling_groups.h"
#include "passes/view_groups.h"

namespace fettle::passes {
namespace {

/// How far the paths of a diamond may reach before they join.
constexpr int kMaxDiamond = 6;
/// Element-wise operators between DQ-op and Q.
constexpr int kMaxActivations = 3;

class Lister {
 public:
  Lister(const GraphIndex& index, std::vector<Group>& groups)
      : index_(index),
        graph_(index.graph()),
        is_link_(graph_.nodes().size()),
        mark_(graph_.nodes().size(), -1),
        groups_(groups) {
    for (ir::NodeId id : graph_.nodes().ids()) {
      const ir::Node& node = graph_.node(id);
      const bool is_link =
          IsElementwise(node) || (IsScaleAndShift(node) && node.outputs.size() == 1);
      is_link_[id] = is_link && node.inputs.size() <= kMaxGroupOperands;
    }
  }

  void Run() {
    for (ir::NodeId id : graph_.nodes().ids()) {
      groups_.push_back({{id}, {}, "node"});
      const ir::OpRef op = graph_.node(id).op;
      const bool is_anchor = op->Has(ir::Trait::kTakesEpilogue);
      if (IsLink(id)) {
        Extend({id}, kMaxGroupNodes, "chain");
      } else if (is_anchor) {
        Extend({id}, kMaxGroupNodes, "epilogue");
        if (op == "Conv"_op) ListSeparable(id);
      }
      // What int8 kernels compute between DQ and Q.
      if (op != "DequantizeLinear"_op &&
          (IsLink(id) || is_anchor || op->Has(ir::Trait::kMovesElements) || op == "Softmax"_op ||
           op == "LayerNormalization"_op || op == "RMSNormalization"_op)) {
        ListQuantised(id);
      }
      if (op == "Concat"_op) ListJoined(id);
      if (op == "MatMul"_op) ListGathered(id);
    }
  }

 private:
  /// BatchNormalization with constant statistics: one multiply-add per element.
  bool IsScaleAndShift(const ir::Node& node) const {
    return node.op == "BatchNormalization"_op && node.inputs.size() == 5 &&
           std::all_of(node.inputs.begin() + 1, node.inputs.end(), [this](ir::ValueId id) {
             return id != ir::kAbsent && graph_.value(id).is_constant();
           });
  }
  bool IsLink(ir::NodeId id) const { return is_link_[id]; }
  const std::vector<ir::NodeId>& Readers(ir::ValueId id) const { return index_.Readers(id); }
  ir::ValueId Result(ir::NodeId id) const { return index_.Result(id); }
  ir::NodeId Next(ir::NodeId id) const { return index_.Next(id); }

  /// The element-wise nodes that follow `last`: one, or the members of a diamond up to the node
  /// where its paths join. Empty where there are none.
  std::vector<ir::NodeId> Step(ir::NodeId last) {
    const ir::NodeId next = Next(last);
    if (next >= 0) return IsLink(next) ? std::vector{next} : std::vector<ir::NodeId>();
    const ir::ValueId value = Result(last);
    if (value == ir::kAbsent || index_.IsOutput(value) || Readers(value).empty()) return {};
    return Diamond(value);
  }

  /// Follows all readers of `value` in order until a single value is left open.
  std::vector<ir::NodeId> Diamond(ir::ValueId value) {
    std::vector<ir::NodeId> members, frontier = Readers(value);
    ++stamp_;
    while (!frontier.empty() && members.size() < kMaxDiamond) {
      // In order of ids each node comes after its operands.
      const auto first = std::min_element(frontier.begin(), frontier.end());
      const ir::NodeId id = *first;
      frontier.erase(first);
      if (mark_[id] == stamp_) continue;
      if (!IsLink(id)) return {};
      mark_[id] = stamp_;
      members.push_back(id);
      const bool joined = std::all_of(frontier.begin(), frontier.end(),
                                      [id](ir::NodeId other) { return other == id; });
      if (joined) return members;
      const ir::ValueId result = Result(id);
      if (index_.IsOutput(result) || Readers(result).empty()) return {};
      frontier.insert(frontier.end(), Readers(result).begin(), Readers(result).end());
    }
    return {};
  }

  void Emit(std::vector<ir::NodeId> nodes, ir::NodeId last, std::string_view pattern) {
    std::vector<ir::ValueId> outputs;
    for (ir::ValueId value : graph_.node(last).outputs) {
      if (value != ir::kAbsent) outputs.push_back(value);
    }
    std::sort(nodes.begin(), nodes.end());
    groups_.push_back({std::move(nodes), std::move(outputs), pattern});
  }

  /// Emits `nodes`, whose last one is the end of the group, with each prefix of the chain behind
  /// it.
  void Extend(std::vector<ir::NodeId> nodes, size_t most, std::string_view pattern) {
    while (true) {
      const std::vector<ir::NodeId> step = Step(nodes.back());
      if (step.empty() || nodes.size() + step.size() > most) return;
      nodes.insert(nodes.end(), step.begin(), step.end());
      Emit(nodes, nodes.back(), pattern);
    }
  }

  /// Adds the nodes of `op` behind the operands of `id` that nobody else reads.
  void AddProducers(ir::NodeId id, ir::OpRef op, std::vector<ir::NodeId>& nodes) const {
    for (ir::ValueId input : graph_.node(id).inputs) {
      const ir::NodeId producer = index_.Maker(input);
      if (producer < 0 || graph_.node(producer).op != op) continue;
      if (Next(producer) != id) continue;
      if (std::find(nodes.begin(), nodes.end(), producer) == nodes.end()) nodes.push_back(producer);
    }
  }

  /// Operands of a Concat with the tables that they go through, and the shuffle behind it.
  void ListJoined(ir::NodeId concat) {
    std::vector<ir::NodeId> nodes;
    AddProducers(concat, "TableLookup"_op, nodes);
    nodes.push_back(concat);
    if (nodes.size() > 1) Emit(nodes, concat, "joined");
    const ir::NodeId next = Next(concat);
    if (next < 0 || graph_.node(next).op != "ChannelShuffle"_op) return;
    nodes.push_back(next);
    Emit(nodes, next, "joined");
  }

  /// Matrices that are gathered for one product.
  void ListGathered(ir::NodeId product) {
    std::vector<ir::NodeId> nodes;
    AddProducers(product, "Gather"_op, nodes);
    if (nodes.size() != 1) return;
    nodes.push_back(product);
    Emit(nodes, product, "gathered");
  }

  void ListQuantised(ir::NodeId core) {
    std::vector<ir::NodeId> nodes;
    AddProducers(core, "DequantizeLinear"_op, nodes);
    if (nodes.empty()) return;
    nodes.push_back(core);
    Emit(nodes, core, "quantised");
    ir::NodeId last = core;
    for (int i = 0; i <= kMaxActivations; ++i) {
      const ir::NodeId next = Next(last);
      if (next >= 0 && graph_.node(next).op == "QuantizeLinear"_op) {
        nodes.push_back(next);
        Emit(nodes, next, "quantised");
        if (graph_.node(core).op->Has(ir::Trait::kTakesEpilogue)) ListResidual(nodes);
        return;
      }
      const std::vector<ir::NodeId> step = Step(last);
      if (step.empty()) return;
      for (ir::NodeId id : step) AddProducers(id, "DequantizeLinear"_op, nodes);
      nodes.insert(nodes.end(), step.begin(), step.end());
      last = step.back();
      Emit(nodes, last, "quantised");
    }
  }

  /// Behind the QuantizeLinear that ends `nodes`: the sum of its bytes with other ones, quantised.
  void ListResidual(std::vector<ir::NodeId> nodes) {
    const ir::NodeId dequantised = Next(nodes.back());
    if (dequantised < 0 || graph_.node(dequantised).op != "DequantizeLinear"_op) return;
    const ir::NodeId sum = Next(dequantised);
    if (sum < 0 || graph_.node(sum).op != "Add"_op) return;
    const size_t before = nodes.size();
    AddProducers(sum, "DequantizeLinear"_op, nodes);
    if (nodes.size() != before + 2) return;
    nodes.push_back(sum);
    for (int i = 0; i <= kMaxActivations; ++i) {
      const ir::NodeId next = Next(nodes.back());
      if (next < 0 || nodes.size() == kMaxGroupNodes) return;
      nodes.push_back(next);
      if (graph_.node(next).op == "QuantizeLinear"_op) return Emit(nodes, next, "residual");
      if (!IsLink(next)) return;
    }
  }

  const Shape* Weights(ir::NodeId id) const {
    const ir::ValueId weights = graph_.node(id).input(1);
    if (weights == ir::kAbsent || !graph_.value(weights).has_concrete_shape()) return nullptr;
    return &*graph_.value(weights).shape;
  }

  bool IsPointwise(ir::NodeId id) const {
    const Shape* weights = Weights(id);
    return graph_.node(id).op == "Conv"_op && graph_.node(id).attributes.Int("group", 1) == 1 &&
           weights != nullptr && weights->rank() > 2 &&
           std::all_of(weights->begin() + 2, weights->end(), [](int64_t k) { return k == 1; });
  }

  void ListSeparable(ir::NodeId depthwise) {
    const Shape* weights = Weights(depthwise);
    if (weights == nullptr || weights->rank() < 3 || (*weights)[1] != 1 ||
        graph_.node(depthwise).attributes.Int("group", 1) < 2) {
      return;
    }
    std::vector<ir::NodeId> nodes = {depthwise};
    while (nodes.size() < kMaxGroupNodes / 2) {
      const ir::NodeId next = Next(nodes.back());
      // The value between must be what the second convolution convolves, not its weights.
      if (next >= 0 && IsPointwise(next) && graph_.node(next).inputs[0] == Result(nodes.back())) {
        nodes.push_back(next);
        Emit(nodes, next, "separable");
        Extend(nodes, kMaxGroupNodes, "separable");
        return;
      }
      const std::vector<ir::NodeId> step = Step(nodes.back());
      if (step.empty()) return;
      nodes.insert(nodes.end(), step.begin(), step.end());
    }
  }

  const GraphIndex& index_;
  const ir::Graph& graph_;
  IdVector<ir::NodeId, bool> is_link_;
  IdVector<ir::NodeId, int> mark_;  // the diamond that saw it last
  int stamp_ = 0;
  std::vector<Group>& groups_;
};

void ListPlainGroups(const GraphIndex& index, std::vector<Group>& groups) {
  Lister(index, groups).Run();
}

/// Adds groups of the graph to `groups`.
using GroupLister = void (*)(const GraphIndex& index, std::vector<Group>& groups);

/// In this order, because bits and normed extend groups that are listed before them.
constexpr GroupLister kListers[] = {ListPlainGroups,       ListBitGroups,     ListNormedGroups,
                                    ListChannelNormGroups, ListSiblingGroups, ListAttentionGroups,
                                    ListRotaryGroups,      ListMoveGroups,    ListViewGroups};

}  // namespace

std::vector<Group> ListGroups(const ir::Graph& graph) {
  const GraphIndex index(graph);
  std::vector<Group> groups;
  for (const GroupLister list : kListers) list(index, groups);
  return groups;
}

}  // namespace fettle::passes
