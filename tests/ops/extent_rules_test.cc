// Rules for other extents say what inference says.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "ops/cases.h"
#include "ops/extent_rule.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Gives the inputs of `node` that are not constants other extents: equal ones stay equal but for a
/// few, so that most but not all fit each other.
void ChangeExtents(ir::Graph& graph, const ir::Node& node, std::mt19937& random) {
  std::map<int64_t, int64_t> drawn;
  const bool keeps_first_two = random() % 2 == 0;
  for (ir::ValueId id : std::set<ir::ValueId>(node.inputs.begin(), node.inputs.end())) {
    if (id == ir::kAbsent || (graph.value(id).is_constant() && random() % 8 != 0)) continue;
    Shape& shape = *graph.value(id).shape;
    for (int axis = keeps_first_two ? 2 : 0; axis < shape.rank(); ++axis) {
      int64_t& extent = shape[axis];
      if (!drawn.contains(extent)) drawn[extent] = random() % 4 == 0 ? extent : random() % 12;
      if (random() % 16 != 0) extent = drawn[extent];
    }
    graph.value(id).constant = nullptr;
  }
}

TEST(ExtentRules, SayWhatInferenceSays) {
  std::mt19937 random(20261128);
  std::map<std::string, int> taken, refused;
  for (const Case& one : AllCases()) {
    ir::Graph parsed = Parse(one.graph).value();
    if (!InferGraph(parsed).ok()) continue;  // shapes that depend on data
    for (ir::NodeId id : parsed.nodes().ids()) {
      const auto rule = ExtentRuleOf(parsed, parsed.node(id));
      for (int round = 0; rule != nullptr && round < 20; ++round) {
        ir::Graph graph = parsed;
        const ir::Node& node = graph.node(id);
        ChangeExtents(graph, node, random);
        std::vector<const Shape*> inputs;
        for (ir::ValueId input : node.inputs)
          inputs.push_back(input == ir::kAbsent ? nullptr : &*graph.value(input).shape);
        Shape output = {7, 7};
        const bool takes = rule->At(inputs, output) && output.CheckedElements().has_value();
        const Result<Inferred> inferred = Infer(graph, node);
        const std::string op(node.op.name());
        if (takes) {
          ASSERT_TRUE(inferred.ok()) << one.name << ": " << inferred.status().message();
          EXPECT_EQ(inferred->outputs[0].shape, output) << one.name;
        }
        ++(takes ? taken : refused)[op];
      }
    }
  }
  for (const ExtentRow& row : ExtentRows()) EXPECT_GT(taken[std::string(row.op)], 0) << row.op;
  for (const char* op : {"Add", "AveragePool", "Concat", "Conv", "LayerNormalization", "MatMul"})
    EXPECT_GT(refused[op], 0) << op;
}

}  // namespace
}  // namespace fettle::ops
