#include "ops/extent_rule.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ops/elementwise/op.h"
#include "ops/op.h"

namespace fettle::ops {

std::span<const ExtentRow> ConcatExtentRules();
std::span<const ExtentRow> ConvExtentRules();
std::span<const ExtentRow> MatMulExtentRules();
std::span<const ExtentRow> PoolExtentRules();
std::span<const ExtentRow> TransposeExtentRules();

namespace {

class Same final : public ExtentRule {
 public:
  explicit Same(OperandShapes inputs) {
    for (const Shape* shape : inputs.subspan(1)) others_.push_back(shape ? *shape : Shape());
  }

  bool At(OperandShapes inputs, Shape& output) const override {
    for (size_t i = 0; i < others_.size(); ++i)
      if (inputs[i + 1] != nullptr && *inputs[i + 1] != others_[i]) return false;
    output = *inputs[0];
    return true;
  }

 private:
  std::vector<Shape> others_;  // inputs 1 and on
};

class OfFirst final : public ExtentRule {
 public:
  bool At(OperandShapes inputs, Shape& output) const override {
    const Shape& x = *inputs[0];
    for (const Shape* shape : inputs.subspan(1))
      if (shape != nullptr && !BroadcastsTo(*shape, x)) return false;
    output = x;
    return true;
  }

 private:
  static bool BroadcastsTo(const Shape& shape, const Shape& x) {
    const int lead = x.rank() - shape.rank();
    for (int i = 0; i < shape.rank(); ++i)
      if (lead < 0 || (shape[i] != 1 && shape[i] != x[lead + i])) return false;
    return true;
  }
};

class Broadcast final : public ExtentRule {
 public:
  bool At(OperandShapes inputs, Shape& output) const override {
    const auto longest =
        std::ranges::max_element(inputs, {}, [](const Shape* shape) { return shape->rank(); });
    output = **longest;
    for (const Shape* shape : inputs)
      if (shape != *longest && !Join(*shape, output)) return false;
    return true;
  }

 private:
  static bool Join(const Shape& shape, Shape& output) {
    const int lead = output.rank() - shape.rank();
    for (int i = 0; i < shape.rank(); ++i) {
      int64_t& extent = output[lead + i];
      if (extent == shape[i] || shape[i] == 1) continue;
      if (extent != 1) return false;
      extent = shape[i];
    }
    return true;
  }
};

template <typename Rule>
std::unique_ptr<ExtentRule> MakeRule(const ir::Node&, OperandShapes) {
  return std::make_unique<Rule>();
}

std::unique_ptr<ExtentRule> MakeSame(const ir::Node&, OperandShapes inputs) {
  return std::make_unique<Same>(inputs);
}

std::unique_ptr<ExtentRule> MakeBroadcast(const ir::Node&, OperandShapes inputs) {
  if (std::ranges::find(inputs, nullptr) != inputs.end()) return nullptr;
  return std::make_unique<Broadcast>();
}

std::vector<ExtentRow> MakeRows() {
  std::vector<ExtentRow> rows = {
      {"BitCast", MakeSame},
      {"Cast", MakeSame},
      {"CastLike", MakeSame},
      {"Clip", MakeSame},
      {"LayerNormalization", MakeRule<OfFirst>},
      {"Pow", MakeBroadcast},
      {"RMSNormalization", MakeRule<OfFirst>},
      {"Softmax", MakeSame},
      {"Where", MakeBroadcast},
  };
  for (const UnaryRow& row : UnaryRows()) rows.push_back({row.name, MakeSame});
  for (const FoldRow& row : FoldRows())
    rows.push_back({row.name, row.name == "PRelu" ? MakeRule<OfFirst> : MakeBroadcast});
  for (const auto family : {ConcatExtentRules, ConvExtentRules, MatMulExtentRules, PoolExtentRules,
                            TransposeExtentRules})
    rows.insert(rows.end(), family().begin(), family().end());
  return rows;
}

}  // namespace

const std::vector<ExtentRow>& ExtentRows() {
  static const std::vector<ExtentRow> rows = MakeRows();
  return rows;
}

std::unique_ptr<ExtentRule> ExtentRuleOf(const ir::Graph& graph, const ir::Node& node) {
  static const auto makers = [] {
    std::map<const ir::OpDesc*, MakeExtentRule> made;
    for (const ExtentRow& row : ExtentRows()) made.emplace(&Get(row.op), row.make);
    return made;
  }();
  const auto maker = makers.find(&OperatorOf(node));
  if (maker == makers.end() || node.outputs.size() != 1 || node.outputs[0] == ir::kAbsent)
    return nullptr;
  std::vector<const Shape*> inputs;
  for (ir::ValueId id : node.inputs)
    inputs.push_back(id == ir::kAbsent ? nullptr : &*graph.value(id).shape);
  return maker->second(node, inputs);
}

}  // namespace fettle::ops
