#include <algorithm>

#include "advice/rules.h"

namespace fettle::tools {
namespace {

constexpr std::string_view kCostly[] = {"HardSwish", "Gelu", "Mish", "Elu",       "Softplus",
                                        "Tanh",      "Selu", "Celu", "LeakyRelu", "PRelu"};

void MakeRelu(Subject& subject, size_t at, std::string_view from, Change& change) {
  const onnx::NodeRecord& node = subject.network.node(at);
  onnx::NodeEdit& edit = change.edits[at];
  edit.dropped = true;
  edit.before = {onnx::WriteNode({.op_type = "Relu",
                                  .name = subject.names(node.name + "_relu"),
                                  .inputs = {std::string(from)},
                                  .outputs = {std::string(node.outputs[0])}})};
  change.nodes.insert(at);
}

/// Whether operand `k` of a product is the Sigmoid of the other one, for this product alone
/// (Swish).
bool IsGate(const quantise::Network& network, const onnx::NodeRecord& node, size_t k) {
  if (node.op_type != "Mul" || node.inputs.size() != 2) return false;
  const quantise::ValueUses& uses = network.uses(node.inputs[k]);
  if (uses.producer < 0 || network.OnlyReader(node.inputs[k]) == nullptr) return false;
  const onnx::NodeRecord& gate = network.node(static_cast<size_t>(uses.producer));
  return gate.op_type == "Sigmoid" && gate.inputs[0] == node.inputs[1 - k];
}

}  // namespace

Status SimplifyActivations(Subject& subject, std::vector<Change>& changes) {
  const quantise::Network& network = subject.network;
  std::map<std::string, Change> by_kind;
  for (size_t i = 0; i < network.nodes().size(); ++i) {
    const onnx::NodeRecord& node = network.node(i);
    if (!node.domain.empty()) continue;
    if (std::ranges::find(kCostly, node.op_type) != std::end(kCostly))
      MakeRelu(subject, i, node.inputs[0], by_kind[std::string(node.op_type)]);
    for (size_t k : {size_t{0}, size_t{1}}) {
      if (!IsGate(network, node, k)) continue;
      Change& change = by_kind["Swish"];
      MakeRelu(subject, i, node.inputs[1 - k], change);
      const auto gate = static_cast<size_t>(network.uses(node.inputs[k]).producer);
      change.edits[gate].dropped = true;
      change.nodes.insert(gate);
      break;
    }
  }
  for (auto& [kind, change] : by_kind) {
    const auto places = static_cast<size_t>(std::ranges::count_if(
        change.edits, [](const auto& edit) { return !edit.second.before.empty(); }));
    change.rule = "activation";
    change.text =
        fmt::format("ReLU instead of {} in {} place{}", kind, places, places == 1 ? "" : "s");
    change.where = kind;
    changes.push_back(std::move(change));
  }
  return OkStatus();
}

}  // namespace fettle::tools
