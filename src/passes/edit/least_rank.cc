#include "passes/edit/least_rank.h"

#include <algorithm>

#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

/// Patterns are a few operators deep.
constexpr int kMostSteps = 6;
/// Of what convolutions and poolings take: images, channels and one axis.
constexpr int kLeastOfWindows = 3;

int LeastRank(const Editor& editor, ir::ValueId value, int steps) {
  if (value == ir::kAbsent) return 0;
  if (editor.value(value).shape) return editor.value(value).shape->rank();
  const ir::Node* node = editor.Producer(value);
  if (node == nullptr || steps == 0) return 0;
  if (node->op == "Conv"_op || node->op == "MaxPool"_op || node->op == "AveragePool"_op)
    return kLeastOfWindows;
  if (node->op == "Clip"_op || node->op == "BatchNormalization"_op)
    return LeastRank(editor, node->input(0), steps - 1);
  int least = 0;
  if (!node->op->Has(ir::Trait::kElementwise)) return least;
  for (ir::ValueId input : node->inputs)
    least = std::max(least, LeastRank(editor, input, steps - 1));
  return least;
}

}  // namespace

std::optional<double> ScalarFor(const Editor& editor, ir::ValueId id, ir::ValueId x) {
  const Constant* constant = ConstantOf(editor.graph(), id);
  if (constant == nullptr) return std::nullopt;
  if (KeepsShape(editor.graph(), *constant, x)) return UniformValue(*constant);
  if (constant->elements() != 1 || x == ir::kAbsent || editor.value(x).shape ||
      constant->shape().rank() > LeastRank(editor, x, kMostSteps))
    return std::nullopt;
  return UniformValue(*constant);
}

}  // namespace fettle::passes
