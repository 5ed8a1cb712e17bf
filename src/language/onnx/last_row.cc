#include "language/onnx/last_row.h"

#include <algorithm>
#include <optional>

#include "ops/op.h"

namespace fettle::language {
namespace {

class RowPicker {
 public:
  explicit RowPicker(ir::Graph& graph)
      : graph_(graph), producers_(graph.Producers()), consumers_(graph.Consumers()) {}

  /// The product whose rows are tokens'; nothing where there is none.
  std::optional<ir::NodeId> FindProduct(ir::ValueId logits) {
    ir::ValueId value = logits;
    for (bool first = true;; first = false) {
      const size_t readers = consumers_[value].size() + (IsOutput(value) ? 1 : 0);
      if (readers != 1 || (!first && IsOutput(value)) || producers_[value] < 0) return std::nullopt;
      const ir::NodeId at = producers_[value];
      const ir::Node& node = graph_.node(at);
      const bool is_product = node.op == "MatMul" || node.op == "BlockMatMul";
      if (is_product && DependsOnInputs(node.input(0)) && IsMatrix(node.input(1))) return at;
      if (std::ranges::find(kElementwise, node.op->name) == std::end(kElementwise))
        return std::nullopt;
      value = OnlyInput(node);
      if (value == ir::kAbsent) return std::nullopt;
    }
  }

 private:
  static constexpr std::string_view kElementwise[] = {"Add", "Cast", "Div", "Identity",
                                                      "Mul", "Sub",  "Tanh"};

  bool IsOutput(ir::ValueId value) const {
    return std::ranges::find(graph_.outputs, value) != graph_.outputs.end();
  }

  bool DependsOnInputs(ir::ValueId value) const {
    std::vector<ir::ValueId> open = {value};
    std::vector<bool> seen(graph_.values().size());
    while (!open.empty()) {
      const ir::ValueId next = open.back();
      open.pop_back();
      if (next == ir::kAbsent || seen[next] || graph_.value(next).is_constant()) continue;
      seen[next] = true;
      if (producers_[next] < 0) return true;
      const ir::Node& node = graph_.node(producers_[next]);
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
    return false;
  }

  /// Made of constants, and of two axes where that is known.
  bool IsMatrix(ir::ValueId value) const {
    const std::optional<Shape>& shape = graph_.value(value).shape;
    const Constant* constant = graph_.value(value).constant.get();
    if (constant != nullptr) return constant->shape().rank() == 2;
    return !DependsOnInputs(value) && (!shape || shape->rank() == 2);
  }

  /// The operand that depends on tokens; the others are numbers, or one for each column.
  ir::ValueId OnlyInput(const ir::Node& node) const {
    ir::ValueId found = ir::kAbsent;
    for (ir::ValueId input : node.inputs) {
      if (input == ir::kAbsent) continue;
      const Constant* constant = graph_.value(input).constant.get();
      if (constant != nullptr && constant->shape().rank() <= 1) continue;
      if (found != ir::kAbsent) return ir::kAbsent;
      found = input;
    }
    return found;
  }

  ir::Graph& graph_;
  IdVector<ir::ValueId, ir::NodeId> producers_;
  IdVector<ir::ValueId, std::vector<ir::NodeId>> consumers_;
};

}  // namespace

Status PickLastRow(ir::Graph& graph, OnnxForm& form) {
  constexpr const char* kRow = "fettle.row";
  const auto logits = graph.FindValue("logits");
  if (form.one_row || !logits || graph.FindValue(kRow)) return OkStatus();
  const auto product = RowPicker(graph).FindProduct(*logits);
  if (!product) return OkStatus();
  const ir::ValueId row =
      graph.AddValue({.name = kRow, .dtype = DType::kI64, .shape = Shape{1}, .symbols = {}});
  graph.inputs.push_back(row);
  const ir::ValueId picked = graph.AddValue({.name = "fettle.picked"});
  ir::Node gather;
  gather.op = &ops::Get("Gather");
  gather.name = "fettle.pick";
  gather.attributes = {{"axis", int64_t{1}}};
  gather.inputs = {graph.node(*product).inputs[0], row};
  gather.outputs = {picked};
  graph.AddNode(std::move(gather));
  graph.node(*product).inputs[0] = picked;
  ir::Value& value = graph.value(*logits);
  value.shape = Shape{(*value.shape)[0], 1, (*value.shape)[2]};
  if (value.symbols.size() == 3) value.symbols[1].clear();
  form.row = {kRow, DType::kI64};
  return graph.Normalise();
}

}  // namespace fettle::language
