#include "passes/edit/known_channels.h"

#include <algorithm>

#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

/// Operators between one layer whose weights tell channels and the next are few.
constexpr int kMostOperators = 8;

bool IsAmong(ir::OpRef op, std::initializer_list<ir::OpRef> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

/// Whether the result has the rank and the channels of the first operand.
bool KeepsChannels(ir::OpRef op) {
  return op->Has(ir::Trait::kPointwise) ||
         IsAmong(op,
                 {"MaxPool"_op, "AveragePool"_op, "GlobalAveragePool"_op, "BatchNormalization"_op,
                  "InstanceNormalization"_op, "GroupNormalization"_op});
}

std::optional<int> KnownRank(const Editor& editor, ir::ValueId id, int steps) {
  if (id == ir::kAbsent) return std::nullopt;
  if (editor.value(id).shape) return editor.value(id).shape->rank();
  const ir::Node* node = editor.Producer(id);
  if (node == nullptr || steps == 0) return std::nullopt;
  const auto of = [&](size_t i) { return KnownRank(editor, node->input(i), steps - 1); };
  if (IsAmong(node->op, {"Conv"_op, "ConvTranspose"_op})) return of(1);
  if (node->op == "Gemm"_op) return 2;
  if (IsAmong(node->op, {"Concat"_op, "Resize"_op, "Pad"_op, "Slice"_op}) ||
      KeepsChannels(node->op))
    return of(0);
  if (node->op == "Unsqueeze"_op) {
    const auto axes = IntsOf(editor.graph(), node->input(1));
    const auto rank = of(0);
    if (!axes || !rank) return std::nullopt;
    return *rank + static_cast<int>(axes->size());
  }
  if (!node->op->Has(ir::Trait::kElementwise)) return std::nullopt;
  int most = 0;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const auto rank = of(i);
    if (!rank) return std::nullopt;
    most = std::max(most, *rank);
  }
  return most;
}

std::optional<int64_t> ExtentOfChannels(const Editor& editor, ir::ValueId id, int rank, int steps);

/// Of operands that are joined along axis 1.
std::optional<int64_t> SumOfChannels(const Editor& editor, const ir::Node& node, int rank,
                                     int steps) {
  int64_t sum = 0;
  for (const ir::ValueId input : node.inputs) {
    const auto channels = ExtentOfChannels(editor, input, rank, steps);
    if (!channels) return std::nullopt;
    sum += *channels;
  }
  return sum;
}

/// Of operands that are repeated along each other: one that has several has the result's.
std::optional<int64_t> BroadcastChannels(const Editor& editor, const ir::Node& node, int rank,
                                         int steps) {
  for (const ir::ValueId input : node.inputs) {
    if (KnownRank(editor, input, steps) != rank) continue;
    const auto channels = ExtentOfChannels(editor, input, rank, steps);
    if (channels && *channels > 1) return channels;
  }
  return std::nullopt;
}

std::optional<int64_t> ExtentOfChannels(const Editor& editor, ir::ValueId id, int rank, int steps) {
  if (id == ir::kAbsent) return std::nullopt;
  const std::optional<Shape>& shape = editor.value(id).shape;
  if (shape) {
    if (shape->rank() != rank || (*shape)[1] < 0) return std::nullopt;
    return (*shape)[1];
  }
  const ir::Node* node = editor.Producer(id);
  if (node == nullptr || steps == 0) return std::nullopt;
  if (IsAmong(node->op, {"Conv"_op, "ConvTranspose"_op})) {
    const std::optional<Shape>& weights = editor.value(node->input(1)).shape;
    if (!weights || weights->rank() != rank) return std::nullopt;
    return node->op == "Conv"_op ? (*weights)[0] : (*weights)[1] * node->attributes.Int("group", 1);
  }
  if (KeepsChannels(node->op)) return ExtentOfChannels(editor, node->input(0), rank, steps - 1);
  if (node->op == "Concat"_op && node->attributes.Int("axis") == 1)
    return SumOfChannels(editor, *node, rank, steps - 1);
  if (!node->op->Has(ir::Trait::kElementwise)) return std::nullopt;
  return BroadcastChannels(editor, *node, rank, steps - 1);
}

}  // namespace

std::optional<KnownChannels> ChannelsOf(const Editor& editor, ir::ValueId id) {
  const auto rank = KnownRank(editor, id, kMostOperators);
  if (!rank || *rank < 2) return std::nullopt;
  const auto channels = ExtentOfChannels(editor, id, *rank, kMostOperators);
  if (!channels || *channels < 1) return std::nullopt;
  return KnownChannels{*rank, *channels};
}

}  // namespace fettle::passes
