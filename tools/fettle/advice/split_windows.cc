#include <algorithm>

#include "advice/rules.h"
#include "importers/onnx/tensor_file.h"

namespace fettle::tools {
namespace {

/// The edge of a depthwise window of 5x5 or 7x7 around its pixel; 0: something else.
int64_t WindowOf(const quantise::Network& network, const onnx::NodeRecord& node) {
  if (node.op_type != "Conv" || !node.domain.empty()) return 0;
  const Constant* const weights = network.constant(node.inputs[1]);
  if (weights == nullptr || weights->dtype() != DType::kF32 || weights->shape().rank() != 4)
    return 0;
  const Shape& shape = weights->shape();
  const int64_t edge = shape[2];
  const bool is_depthwise = shape[1] == 1 && network.Int(node, "group", 1) == shape[0];
  const Dims same(4, edge / 2), ones(2, 1);
  if (!is_depthwise || shape[3] != edge || (edge != 5 && edge != 7)) return 0;
  if (network.Ints(node, "pads", {}) != same || network.Ints(node, "dilations", ones) != ones)
    return 0;
  return edge;
}

/// `parts` windows of 3x3, one behind the other, in the place of node `at`.
Status SplitWindow(Subject& subject, size_t at, int64_t parts, Change& change) {
  const quantise::Network& network = subject.network;
  const onnx::NodeRecord& node = network.node(at);
  const int64_t channels = network.constant(node.inputs[1])->shape()[0];
  onnx::NodeEdit& edit = change.edits[at];
  edit.dropped = true;
  std::string from(node.inputs[0]);
  for (int64_t part = 0; part < parts; ++part) {
    const bool is_last = part + 1 == parts;
    ASSIGN_OR_RETURN(const Tensor weights,
                     SeededWeights(Shape{channels, 1, 3, 3}, 9, subject.seed + at + part));
    const std::string name = subject.names(node.name + "_3x3"), weight = name + "_weight";
    change.initializers.push_back(onnx::WriteTensorProto(weights, weight));
    onnx::NewNode made{.op_type = "Conv",
                       .name = name,
                       .inputs = {from, weight},
                       .outputs = {is_last ? std::string(node.outputs[0]) : name + "_out"},
                       .attributes = {{"group", channels}},
                       .lists = {{"kernel_shape", {3, 3}}, {"pads", {1, 1, 1, 1}}}};
    if (part == 0) made.lists.emplace_back("strides", network.Ints(node, "strides", {1, 1}));
    if (is_last && node.inputs.size() > 2) made.inputs.emplace_back(node.inputs[2]);
    edit.before.push_back(onnx::WriteNode(made));
    from = made.outputs[0];
  }
  return OkStatus();
}

}  // namespace

Status SplitWindows(Subject& subject, std::vector<Change>& changes) {
  const quantise::Network& network = subject.network;
  std::map<int64_t, Change> by_edge;
  for (size_t i = 0; i < network.nodes().size(); ++i) {
    const onnx::NodeRecord& node = network.node(i);
    const int64_t edge = WindowOf(network, node);
    if (edge == 0) continue;
    Change& change = by_edge[edge];
    change.nodes.insert(i);
    RETURN_IF_ERROR(SplitWindow(subject, i, edge / 2, change));
    if (network.OnlyReader(node.inputs[1]) != nullptr)
      change.dropped_constants.emplace(node.inputs[1]);
  }
  for (auto& [edge, change] : by_edge) {
    change.rule = "window";
    change.where = fmt::format("window {}", edge);
    change.text =
        fmt::format("{} depthwise convolutions of 3x3 instead of one of {}x{} in {} place{}",
                    edge == 5 ? "two" : "three", edge, edge, change.nodes.size(),
                    change.nodes.size() == 1 ? "" : "s");
    changes.push_back(std::move(change));
  }
  return OkStatus();
}

}  // namespace fettle::tools
