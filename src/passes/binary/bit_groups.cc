#include "passes/binary/bit_groups.h"

#include <algorithm>
#include <iterator>

namespace fettle::passes {
namespace {

/// Operators between a result and its comparison: a shifted sign has one.
constexpr size_t kMaxShifts = 2;

class BitLister {
 public:
  explicit BitLister(const GraphIndex& index) : index_(index), graph_(index.graph()) {}

  void Extend(const Group& group, std::vector<Group>& made) const {
    const ir::ValueId result = graph_.node(group.nodes.back()).outputs[0];
    const std::vector<ir::NodeId>& readers = index_.Readers(result);
    // Of a chain that nobody else reads, what lies before PackBits is listed below.
    const bool is_shared_chain = index_.IsShared(result) && IsWholeChain(group);
    if (!IsProduct(graph_.node(group.nodes[0])) && !is_shared_chain) return;
    for (ir::NodeId reader : readers) {
      std::vector<ir::NodeId> path = PathToBits(result, reader);
      // A result with one reader is not the end of its chain.
      if (path.empty() || (path.size() > 1 && readers.size() == 1) ||
          group.nodes.size() + path.size() > kMaxGroupNodes)
        continue;
      Group longer{.nodes = group.nodes, .pattern = "bits"};
      longer.nodes.insert(longer.nodes.end(), path.begin(), path.end());
      if (index_.IsShared(result)) longer.outputs.push_back(result);
      longer.outputs.push_back(graph_.node(path.back()).outputs[0]);
      made.push_back(std::move(longer));
      return;
    }
  }

  /// A PackBits with the shifts before it, where others read their input too: no group of a product
  /// ends there.
  void Precede(ir::NodeId id, std::vector<Group>& made) const {
    if (graph_.node(id).op != "PackBits"_op) return;
    std::vector<ir::NodeId> nodes = {id};
    ir::ValueId value = graph_.node(id).inputs[0];
    while (nodes.size() <= kMaxShifts && index_.Maker(value) >= 0 && !index_.IsShared(value)) {
      const ir::Node& node = graph_.node(index_.Maker(value));
      const ir::ValueId from = ShiftedBy(node);
      if (from == ir::kAbsent || graph_.value(from).shape != graph_.value(value).shape) break;
      nodes.insert(nodes.begin(), index_.Maker(value));
      value = from;
    }
    if (nodes.size() == 1) return;
    made.push_back({.nodes = nodes, .outputs = graph_.node(id).outputs, .pattern = "bits"});
  }

 private:
  static bool IsProduct(const ir::Node& node) {
    return node.op == "BinaryConv"_op || node.op == "BinaryMatMul"_op;
  }

  /// Element-wise operators from the first one on, which do not follow a product in its group.
  bool IsWholeChain(const Group& group) const {
    const ir::Node& first = graph_.node(group.nodes[0]);
    if (!IsElementwise(first) || (group.nodes.size() > 1 && group.pattern != "chain")) return false;
    return std::none_of(first.inputs.begin(), first.inputs.end(), [this](ir::ValueId id) {
      if (index_.Maker(id) < 0 || index_.Readers(id).size() > 1) return false;
      const ir::Node& before = graph_.node(index_.Maker(id));
      return IsElementwise(before) || before.op->Has(ir::Trait::kTakesEpilogue);
    });
  }

  /// What an element-wise operator computes from one value and constants; kAbsent where it is none.
  ir::ValueId ShiftedBy(const ir::Node& node) const {
    if (!IsElementwise(node)) return ir::kAbsent;
    ir::ValueId from = ir::kAbsent;
    for (ir::ValueId id : node.inputs) {
      if (id == ir::kAbsent || graph_.value(id).is_constant()) continue;
      if (from != ir::kAbsent) return ir::kAbsent;
      from = id;
    }
    return from;
  }

  /// The nodes from `reader` of `value` to a PackBits; empty where they do not lead to one, or need
  /// what is computed elsewhere.
  std::vector<ir::NodeId> PathToBits(ir::ValueId value, ir::NodeId reader) const {
    std::vector<ir::NodeId> path;
    while (path.size() <= kMaxShifts) {
      const ir::Node& node = graph_.node(reader);
      path.push_back(reader);
      if (node.op == "PackBits"_op) return path;
      if (ShiftedBy(node) != value) return {};
      value = node.outputs[0];
      if (index_.Readers(value).empty() || index_.IsShared(value)) return {};
      reader = index_.Readers(value)[0];
    }
    return {};
  }

  const GraphIndex& index_;
  const ir::Graph& graph_;
};

}  // namespace

void ListBitGroups(const GraphIndex& index, std::vector<Group>& groups) {
  const ir::Graph& graph = index.graph();
  const bool has_bits = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                    [](const ir::Node& node) { return node.op == "PackBits"_op; });
  if (!has_bits) return;
  const BitLister lister(index);
  std::vector<Group> made;
  for (const Group& group : groups) lister.Extend(group, made);
  for (ir::NodeId id : graph.nodes().ids()) lister.Precede(id, made);
  std::ranges::move(made, std::back_inserter(groups));
}

}  // namespace fettle::passes
