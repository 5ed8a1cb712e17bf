#include "advice/channel_group.h"

#include <algorithm>

namespace fettle::tools {
namespace {

/// Operators of one activation whose results have its channels.
constexpr std::string_view kKeepChannels[] = {
    "Relu",    "LeakyRelu", "Sigmoid",     "HardSigmoid",       "HardSwish",     "Clip",
    "Tanh",    "Elu",       "Gelu",        "Softplus",          "Mish",          "Identity",
    "Dropout", "MaxPool",   "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "ReduceMean"};

}  // namespace

bool ChannelGroup::Visit(std::string_view value) {
  if (!values_.emplace(value).second) return true;
  const quantise::ValueUses& uses = network_.uses(value);
  if (uses.read_elsewhere || uses.producer < 0) return false;
  return Write(static_cast<size_t>(uses.producer)) &&
         std::ranges::all_of(uses.readers, [&](size_t node) { return Read(node, value); });
}

bool ChannelGroup::Has(size_t node, size_t input, int axis, ChannelRole role) {
  const Constant* const constant = network_.constant(network_.node(node).inputs[input]);
  if (constant == nullptr || constant->dtype() != DType::kF32 || axis >= constant->shape().rank() ||
      constant->shape()[axis] != channels_)
    return false;
  constants_[{node, input}][axis] = role;
  return true;
}

bool ChannelGroup::HasBias(size_t i) {
  const onnx::NodeRecord& node = network_.node(i);
  return node.inputs.size() < 3 || node.inputs[2].empty() || Has(i, 2, 0, ChannelRole::kBias);
}

bool ChannelGroup::IsDepthwise(const onnx::NodeRecord& node) const {
  const Constant* const weights = network_.constant(node.inputs[1]);
  return weights != nullptr && weights->shape().rank() > 2 && weights->shape()[1] == 1 &&
         network_.Int(node, "group", 1) == channels_ && weights->shape()[0] == channels_;
}

bool ChannelGroup::Write(size_t i) {
  const onnx::NodeRecord& node = network_.node(i);
  if (node.op_type != "Conv") return Pass(i);
  if (IsDepthwise(node)) return Depthwise(i);
  if (network_.Int(node, "group", 1) != 1) return false;
  nodes_.insert(i);
  return Has(i, 1, 0, ChannelRole::kWriter) && HasBias(i);
}

bool ChannelGroup::Read(size_t i, std::string_view value) {
  const onnx::NodeRecord& node = network_.node(i);
  if (node.op_type != "Conv") return Pass(i);
  if (node.inputs[0] != value) return false;
  if (IsDepthwise(node)) return Depthwise(i);
  nodes_.insert(i);
  return network_.Int(node, "group", 1) == 1 && Has(i, 1, 1, ChannelRole::kReader);
}

bool ChannelGroup::Depthwise(size_t i) {
  const onnx::NodeRecord& node = network_.node(i);
  if (!depthwise_.insert(i).second) return true;
  nodes_.insert(i);
  return Has(i, 1, 0, ChannelRole::kScale) && HasBias(i) && Visit(node.inputs[0]) &&
         Visit(node.outputs[0]);
}

/// Operators that leave channels what they are.
bool ChannelGroup::Pass(size_t i) {
  const onnx::NodeRecord& node = network_.node(i);
  if (!passed_.insert(i).second) return true;
  nodes_.insert(i);
  const auto rank = RankOf(node.outputs[0]);
  if (!node.domain.empty() || !rank) return false;
  if (node.op_type == "BatchNormalization") return PassNormalisation(i);
  if (std::ranges::find(kKeepChannels, node.op_type) != std::end(kKeepChannels))
    return network_.Int(node, "keepdims", 1) == 1 && HasChannels(node.outputs[0]) &&
           Visit(node.inputs[0]) && Visit(node.outputs[0]);
  if (node.op_type != "Add" && node.op_type != "Mul") return false;
  for (size_t k = 0; k < node.inputs.size(); ++k)
    if (!PassOperand(i, k, *rank)) return false;
  return Visit(node.outputs[0]);
}

bool ChannelGroup::PassNormalisation(size_t i) {
  using enum ChannelRole;
  const onnx::NodeRecord& node = network_.node(i);
  const ChannelRole roles[] = {kScale, kBias, kShift, kVariance};
  for (size_t k = 1; k < 5; ++k)
    if (!Has(i, k, 0, roles[k - 1])) return false;
  return Visit(node.inputs[0]) && Visit(node.outputs[0]);
}

/// One of two operands, which may be broadcast.
bool ChannelGroup::PassOperand(size_t i, size_t k, int rank) {
  const onnx::NodeRecord& node = network_.node(i);
  const std::string_view name = node.inputs[k];
  const Constant* const constant = network_.constant(name);
  if (constant == nullptr) return HasChannels(name) ? Visit(name) : IsOneChannel(name);
  const int axis = constant->shape().rank() - (rank - 1);
  if (constant->elements() == 1 || axis < 0 || constant->shape()[axis] == 1) return true;
  return Has(i, k, axis, node.op_type == "Mul" ? ChannelRole::kScale : ChannelRole::kShift);
}

std::optional<int> ChannelGroup::RankOf(std::string_view value) const {
  const auto found = subject_.shapes.find(value);
  // What passes fold away is between values of feature maps all the same.
  return found == subject_.shapes.end() ? 4 : found->second.rank();
}

bool ChannelGroup::HasChannels(std::string_view value) const {
  const auto found = subject_.shapes.find(value);
  if (found == subject_.shapes.end()) return true;
  return found->second.rank() > 2 && found->second[1] == channels_;
}

bool ChannelGroup::IsOneChannel(std::string_view value) const {
  const auto found = subject_.shapes.find(value);
  return found != subject_.shapes.end() && found->second.rank() > 2 && found->second[1] == 1;
}

std::vector<ChannelGroup> ListChannelGroups(const Subject& subject) {
  const quantise::Network& network = subject.network;
  std::vector<ChannelGroup> groups;
  std::set<std::string, std::less<>> seen;
  for (const onnx::NodeRecord& node : network.nodes()) {
    if (node.op_type != "Conv" || seen.contains(node.outputs[0])) continue;
    const Constant* const weights = network.constant(node.inputs[1]);
    if (weights == nullptr || weights->shape().rank() < 3) continue;
    ChannelGroup group(subject, weights->shape()[0]);
    const bool is_free = group.Visit(node.outputs[0]);
    seen.insert(group.values().begin(), group.values().end());
    if (is_free) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace fettle::tools
