// Rules that put linear operators in another order: the network computes the same.
#include <cstring>

#include "advice/rules.h"
#include "importers/onnx/tensor_file.h"

namespace fettle::tools {
namespace {

using Lists = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// The attributes of a window, as the file has them.
Lists WindowLists(const quantise::Network& network, const onnx::NodeRecord& node) {
  Lists lists;
  for (const char* name : {"kernel_shape", "strides", "pads", "dilations"})
    if (auto values = network.Ints(node, name, {}); !values.empty())
      lists.emplace_back(name, std::move(values));
  return lists;
}

bool AllAre(const std::vector<int64_t>& values, int64_t wanted) {
  return std::ranges::all_of(values, [&](int64_t value) { return value == wanted; });
}

bool HasAutoPad(const onnx::NodeRecord& node) {
  return std::ranges::any_of(node.attributes,
                             [](const auto& attribute) { return attribute.name == "auto_pad"; });
}

/// A convolution with constant weights of f32 in one group; null otherwise.
const Constant* PlainWeights(const quantise::Network& network, const onnx::NodeRecord& node) {
  if (node.op_type != "Conv" || !node.domain.empty() || HasAutoPad(node)) return nullptr;
  const Constant* const weights = network.constant(node.inputs[1]);
  const bool is_plain = weights != nullptr && weights->dtype() == DType::kF32 &&
                        weights->shape().rank() == 4 && network.Int(node, "group", 1) == 1;
  return is_plain ? weights : nullptr;
}

bool IsPointwise(const quantise::Network& network, const onnx::NodeRecord& node) {
  const Constant* const weights = PlainWeights(network, node);
  return weights != nullptr && weights->shape()[2] == 1 && weights->shape()[3] == 1 &&
         AllAre(network.Ints(node, "strides", {}), 1) && AllAre(network.Ints(node, "pads", {}), 0);
}

bool IsPlainAverage(const quantise::Network& network, const onnx::NodeRecord& node) {
  return node.op_type == "AveragePool" && !HasAutoPad(node) &&
         AllAre(network.Ints(node, "pads", {}), 0) && network.Int(node, "ceil_mode", 0) == 0 &&
         !AllAre(network.Ints(node, "strides", {1}), 1);
}

/// The input channels [begin, begin + count) of weights.
Result<Tensor> SliceInputs(const Constant& weights, int64_t begin, int64_t count) {
  Shape shape = weights.shape();
  const int64_t inputs = shape[1], window = shape[2] * shape[3];
  shape[1] = count;
  ASSIGN_OR_RETURN(Tensor part, Tensor::Create(DType::kF32, shape));
  for (int64_t out = 0; out < shape[0]; ++out)
    weights.CopyTo((out * inputs + begin) * window, count * window,
                   reinterpret_cast<std::byte*>(part.as<float>().data() + out * count * window));
  return part;
}

constexpr size_t kMostParts = 3;

/// The convolution `node` of its input channels from `begin` on, which are `part`; the bias goes to
/// the first of them.
Result<onnx::NewNode> ConvolveInputs(Subject& subject, const onnx::NodeRecord& node,
                                     std::string_view part, int64_t begin, Change& change) {
  const quantise::Network& network = subject.network;
  const int64_t count = subject.shapes.find(part)->second[1];
  ASSIGN_OR_RETURN(const Tensor slice,
                   SliceInputs(*network.constant(node.inputs[1]), begin, count));
  const std::string name = subject.names(node.name + "_part"), weight = name + "_weight";
  change.initializers.push_back(onnx::WriteTensorProto(slice, weight));
  onnx::NewNode made{.op_type = "Conv",
                     .name = name,
                     .inputs = {std::string(part), weight},
                     .outputs = {name + "_out"},
                     .lists = WindowLists(network, node)};
  if (begin == 0 && node.inputs.size() > 2) made.inputs.emplace_back(node.inputs[2]);
  return made;
}

/// The change of a convolution `at` of the Concat `concat`.
Result<Change> SplitConcat(Subject& subject, size_t concat, size_t at) {
  const quantise::Network& network = subject.network;
  const onnx::NodeRecord &parts = network.node(concat), &node = network.node(at);
  Change change{.rule = "concat",
                .text = fmt::format("a sum of {} convolutions instead of one of their Concat",
                                    parts.inputs.size()),
                .where = std::string(parts.outputs[0]),
                .nodes = {concat, at},
                .same_function = true};
  change.edits[concat].dropped = true;
  onnx::NodeEdit& edit = change.edits[at];
  edit.dropped = true;
  std::string sum;
  int64_t begin = 0;
  for (size_t i = 0; i < parts.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const onnx::NewNode made,
                     ConvolveInputs(subject, node, parts.inputs[i], begin, change));
    begin += subject.shapes.find(parts.inputs[i])->second[1];
    edit.before.push_back(onnx::WriteNode(made));
    if (i == 0) {
      sum = made.outputs[0];
      continue;
    }
    const bool is_last = i + 1 == parts.inputs.size();
    const std::string added = is_last ? std::string(node.outputs[0]) : made.name + "_sum";
    edit.before.push_back(onnx::WriteNode({.op_type = "Add",
                                           .name = made.name + "_add",
                                           .inputs = {sum, made.outputs[0]},
                                           .outputs = {added}}));
    sum = added;
  }
  if (network.OnlyReader(node.inputs[1]) != nullptr)
    change.dropped_constants.emplace(node.inputs[1]);
  return change;
}

/// Whether all parts have known channels that add up to those of the weights.
bool FitsConcat(const Subject& subject, const onnx::NodeRecord& concat, const Constant& weights) {
  int64_t channels = 0;
  for (std::string_view input : concat.inputs) {
    const auto shape = subject.shapes.find(input);
    if (shape == subject.shapes.end() || shape->second.rank() != 4) return false;
    channels += shape->second[1];
  }
  return channels == weights.shape()[1];
}

}  // namespace

Status PoolFirst(Subject& subject, std::vector<Change>& changes) {
  const quantise::Network& network = subject.network;
  for (size_t i = 0; i < network.nodes().size(); ++i) {
    const onnx::NodeRecord& node = network.node(i);
    if (!IsPointwise(network, node)) continue;
    const size_t* const reader = network.OnlyReader(node.outputs[0]);
    if (reader == nullptr || !IsPlainAverage(network, network.node(*reader))) continue;
    const onnx::NodeRecord& pool = network.node(*reader);
    const std::string pooled = subject.names(pool.name + "_first");
    onnx::NewNode convolution{.op_type = "Conv",
                              .name = node.name,
                              .inputs = {node.inputs.begin(), node.inputs.end()},
                              .outputs = {std::string(pool.outputs[0])},
                              .lists = WindowLists(network, node)};
    convolution.inputs[0] = pooled;
    Change change{.rule = "pool",
                  .text = "the average pool before the 1x1 convolution instead of after it",
                  .where = std::string(node.outputs[0]),
                  .nodes = {i, *reader},
                  .same_function = true};
    change.edits[*reader].dropped = true;
    change.edits[i].dropped = true;
    change.edits[i].before = {onnx::WriteNode({.op_type = "AveragePool",
                                               .name = pool.name,
                                               .inputs = {std::string(node.inputs[0])},
                                               .outputs = {pooled},
                                               .lists = WindowLists(network, pool)}),
                              onnx::WriteNode(convolution)};
    changes.push_back(std::move(change));
  }
  return OkStatus();
}

Status SplitConcats(Subject& subject, std::vector<Change>& changes) {
  const quantise::Network& network = subject.network;
  for (size_t i = 0; i < network.nodes().size(); ++i) {
    const onnx::NodeRecord& concat = network.node(i);
    if (concat.op_type != "Concat" || network.Int(concat, "axis", 0) != 1) continue;
    if (concat.inputs.size() < 2 || concat.inputs.size() > kMostParts) continue;
    const size_t* const reader = network.OnlyReader(concat.outputs[0]);
    if (reader == nullptr || network.node(*reader).inputs[0] != concat.outputs[0]) continue;
    const Constant* const weights = PlainWeights(network, network.node(*reader));
    if (weights == nullptr || !FitsConcat(subject, concat, *weights)) continue;
    ASSIGN_OR_RETURN(Change change, SplitConcat(subject, i, *reader));
    changes.push_back(std::move(change));
  }
  return OkStatus();
}

Status ListChanges(Subject& subject, std::vector<Change>& changes) {
  for (const auto rule :
       {PoolFirst, WidenChannels, SplitWindows, SimplifyActivations, SplitConcats})
    RETURN_IF_ERROR(rule(subject, changes));
  return OkStatus();
}

}  // namespace fettle::tools
