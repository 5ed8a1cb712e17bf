#include "passes/find/spelled_product.h"

#include <algorithm>

#include "passes/edit/constants.h"
#include "passes/edit/least_rank.h"

namespace fettle::passes {
namespace {

constexpr size_t kMaxFactors = 8;
/// Bounds the recursion, and the work for one root, on chains of any length.
constexpr int kMaxDepth = 12;

class Flattener {
 public:
  explicit Flattener(const Editor& editor) : editor_(editor) {}

  Product Run(ir::ValueId root) {
    Visit(root, true);
    return std::move(product_);
  }

 private:
  void Visit(ir::ValueId value, bool is_root) {
    const ir::Node* node = editor_.Producer(value);
    const bool open = node != nullptr && node->inputs.size() == 2 && node->outputs.size() == 1 &&
                      (is_root || editor_.HasOneUse(value)) &&
                      product_.values.size() < kMaxFactors && depth_ < kMaxDepth;
    ++depth_;
    if (!open || !Expand(*node)) product_.values.push_back(value);
    --depth_;
  }

  bool Expand(const ir::Node& node) {
    const ir::ValueId a = node.inputs[0], b = node.inputs[1];
    if (a == ir::kAbsent || b == ir::kAbsent) return false;
    if (node.op == "Mul"_op) {
      const bool swapped = editor_.value(a).is_constant();
      const ir::ValueId x = swapped ? b : a, y = swapped ? a : b;
      if (!editor_.value(y).is_constant()) {
        Visit(a, false);
        Visit(b, false);
        return true;
      }
      if (!TakeNumber(y, x, false)) product_.constants.push_back(y);
      Visit(x, false);
      return true;
    }
    if (node.op == "Div"_op && TakeNumber(b, a, true)) {
      Visit(a, false);
      return true;
    }
    if (node.op == "Pow"_op) return ExpandPower(a, b);
    return false;
  }

  bool ExpandPower(ir::ValueId x, ir::ValueId exponent) {
    const auto power = ScalarFor(editor_, exponent, x);
    if (!power || (*power != 2 && *power != 3)) return false;
    product_.values.insert(product_.values.end(), static_cast<size_t>(*power), x);
    return true;
  }

  bool TakeNumber(ir::ValueId constant, ir::ValueId x, bool inverse) {
    const auto number = ScalarFor(editor_, constant, x);
    const DType dtype = editor_.value(constant).dtype;
    if (!number || !IsFloat(dtype) || (inverse && *number == 0)) return false;
    product_.factor *= inverse ? 1 / *number : *number;
    product_.precision = std::max(product_.precision, WrittenPrecision(dtype));
    return true;
  }

  const Editor& editor_;
  Product product_;
  int depth_ = 0;
};

}  // namespace

bool Product::FactorIs(double target) const { return IsNear(factor, target, precision); }

bool Product::Remove(ir::ValueId value) {
  const auto it = std::find(values.begin(), values.end(), value);
  if (it == values.end()) return false;
  values.erase(it);
  return true;
}

Product FlattenProduct(const Editor& editor, ir::ValueId root) {
  return Flattener(editor).Run(root);
}

std::optional<Offset> ReadOffset(const Editor& editor, ir::ValueId value) {
  const ir::Node* node = editor.Producer(value);
  if (node == nullptr || !editor.HasOneUse(value) || node->inputs.size() != 2) return std::nullopt;
  const ir::ValueId a = node->inputs[0], b = node->inputs[1];
  if (node->op == "Add"_op || node->op == "Sub"_op) {
    if (const auto number = ScalarFor(editor, b, a))
      return Offset{a, node->op == "Add"_op ? *number : -*number};
  }
  if (node->op == "Add"_op) {
    if (const auto number = ScalarFor(editor, a, b)) return Offset{b, *number};
  }
  return std::nullopt;
}

ir::ValueId OperandOf(const Editor& editor, ir::ValueId value, ir::OpRef op) {
  const ir::Node* node = editor.Producer(value, op);
  if (node == nullptr || !editor.HasOneUse(value) || node->inputs.size() != 1) return ir::kAbsent;
  return node->inputs[0];
}

}  // namespace fettle::passes
