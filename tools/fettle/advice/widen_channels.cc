#include <algorithm>

#include "advice/rules.h"

namespace fettle::tools {
namespace {

using Filling = Growth::Fill;

/// What is rounded to, and how much wider is still worth a try.
constexpr int64_t kMultiples[] = {8, 16, 32, 64};
constexpr double kMostWider = 1.35;

/// Operators of one activation whose results have its channels.
constexpr std::string_view kKeepChannels[] = {
    "Relu",    "LeakyRelu", "Sigmoid",     "HardSigmoid",       "HardSwish",     "Clip",
    "Tanh",    "Elu",       "Gelu",        "Softplus",          "Mish",          "Identity",
    "Dropout", "MaxPool",   "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "ReduceMean"};

/// All values that share their channels with one, and the constants that have them.
class ChannelGroup {
 public:
  ChannelGroup(const Subject& subject, int64_t channels)
      : subject_(subject), network_(subject.network), channels_(channels) {}

  /// False where something has these channels that cannot grow.
  bool Visit(std::string_view value) {
    if (!values_.emplace(value).second) return true;
    const quantise::ValueUses& uses = network_.uses(value);
    if (uses.read_elsewhere || uses.producer < 0) return false;
    return Write(static_cast<size_t>(uses.producer)) &&
           std::ranges::all_of(uses.readers, [&](size_t node) { return Read(node, value); });
  }

  /// The change to `size` channels.
  Change To(int64_t size) const {
    Change change{.rule = "channels",
                  .text = fmt::format("{} channels instead of {}", size, channels_),
                  .where = *values_.begin(),
                  .nodes = nodes_,
                  .same_function = true};
    for (const auto& [operand, axes] : fills_)
      for (const auto& [axis, fill] : axes) change.growths[operand][axis] = {size, fill};
    for (size_t node : depthwise_) change.edits[node].attributes["group"] = size;
    return change;
  }
  const std::set<std::string, std::less<>>& values() const { return values_; }

 private:
  bool Grow(size_t node, size_t input, int axis, Filling fill) {
    const Constant* const constant = network_.constant(network_.node(node).inputs[input]);
    if (constant == nullptr || constant->dtype() != DType::kF32 ||
        axis >= constant->shape().rank() || constant->shape()[axis] != channels_)
      return false;
    fills_[{node, input}][axis] = fill;
    return true;
  }
  bool GrowBias(size_t i) {
    const onnx::NodeRecord& node = network_.node(i);
    return node.inputs.size() < 3 || node.inputs[2].empty() || Grow(i, 2, 0, Filling::kZero);
  }
  bool IsDepthwise(const onnx::NodeRecord& node) const {
    const Constant* const weights = network_.constant(node.inputs[1]);
    return weights != nullptr && weights->shape().rank() > 2 && weights->shape()[1] == 1 &&
           network_.Int(node, "group", 1) == channels_ && weights->shape()[0] == channels_;
  }

  bool Write(size_t i) {
    const onnx::NodeRecord& node = network_.node(i);
    if (node.op_type != "Conv") return Pass(i);
    if (IsDepthwise(node)) return Depthwise(i);
    if (network_.Int(node, "group", 1) != 1) return false;
    nodes_.insert(i);
    return Grow(i, 1, 0, Filling::kNoise) && GrowBias(i);
  }
  bool Read(size_t i, std::string_view value) {
    const onnx::NodeRecord& node = network_.node(i);
    if (node.op_type != "Conv") return Pass(i);
    if (node.inputs[0] != value) return false;
    if (IsDepthwise(node)) return Depthwise(i);
    nodes_.insert(i);
    return network_.Int(node, "group", 1) == 1 && Grow(i, 1, 1, Filling::kZero);
  }
  bool Depthwise(size_t i) {
    const onnx::NodeRecord& node = network_.node(i);
    if (!depthwise_.insert(i).second) return true;
    nodes_.insert(i);
    return Grow(i, 1, 0, Filling::kNoise) && GrowBias(i) && Visit(node.inputs[0]) &&
           Visit(node.outputs[0]);
  }

  /// Operators that leave channels what they are.
  bool Pass(size_t i) {
    const onnx::NodeRecord& node = network_.node(i);
    if (!passed_.insert(i).second) return true;
    nodes_.insert(i);
    const auto rank = RankOf(node.outputs[0]);
    if (!node.domain.empty() || !rank) return false;
    if (node.op_type == "BatchNormalization") {
      for (size_t k = 1; k < 5; ++k)
        if (!Grow(i, k, 0, k == 1 || k == 4 ? Filling::kOne : Filling::kZero)) return false;
      return Visit(node.inputs[0]) && Visit(node.outputs[0]);
    }
    if (std::ranges::find(kKeepChannels, node.op_type) != std::end(kKeepChannels))
      return network_.Int(node, "keepdims", 1) == 1 && HasChannels(node.outputs[0]) &&
             Visit(node.inputs[0]) && Visit(node.outputs[0]);
    if (node.op_type != "Add" && node.op_type != "Mul") return false;
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (!PassOperand(i, k, *rank)) return false;
    return Visit(node.outputs[0]);
  }
  /// One of two operands, which may be broadcast.
  bool PassOperand(size_t i, size_t k, int rank) {
    const std::string_view name = network_.node(i).inputs[k];
    const Constant* const constant = network_.constant(name);
    if (constant == nullptr) return HasChannels(name) ? Visit(name) : IsOneChannel(name);
    const int axis = constant->shape().rank() - (rank - 1);
    if (constant->elements() == 1 || axis < 0 || constant->shape()[axis] == 1) return true;
    return Grow(i, k, axis, Filling::kOne);
  }

  std::optional<int> RankOf(std::string_view value) const {
    const auto found = subject_.shapes.find(value);
    // What passes fold away is between values of feature maps all the same.
    return found == subject_.shapes.end() ? 4 : found->second.rank();
  }
  bool HasChannels(std::string_view value) const {
    const auto found = subject_.shapes.find(value);
    if (found == subject_.shapes.end()) return true;
    return found->second.rank() > 2 && found->second[1] == channels_;
  }
  bool IsOneChannel(std::string_view value) const {
    const auto found = subject_.shapes.find(value);
    return found != subject_.shapes.end() && found->second.rank() > 2 && found->second[1] == 1;
  }

  const Subject& subject_;
  const quantise::Network& network_;
  int64_t channels_;
  std::set<std::string, std::less<>> values_;
  std::map<Operand, std::map<int, Filling>> fills_;
  std::set<size_t> nodes_, depthwise_, passed_;
};

}  // namespace

Status WidenChannels(Subject& subject, std::vector<Change>& changes) {
  const quantise::Network& network = subject.network;
  std::set<std::string, std::less<>> seen;
  for (const onnx::NodeRecord& node : network.nodes()) {
    if (node.op_type != "Conv" || seen.contains(node.outputs[0])) continue;
    const Constant* const weights = network.constant(node.inputs[1]);
    if (weights == nullptr || weights->shape().rank() < 3) continue;
    const int64_t channels = weights->shape()[0];
    ChannelGroup group(subject, channels);
    const bool can_grow = group.Visit(node.outputs[0]);
    seen.insert(group.values().begin(), group.values().end());
    if (!can_grow) continue;
    std::set<int64_t> sizes;
    for (int64_t multiple : kMultiples)
      sizes.insert((channels + multiple - 1) / multiple * multiple);
    for (int64_t size : sizes)
      if (size > channels &&
          static_cast<double>(size) <= kMostWider * static_cast<double>(channels))
        changes.push_back(group.To(size));
  }
  return OkStatus();
}

}  // namespace fettle::tools
