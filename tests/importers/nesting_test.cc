// Model-local functions and sub-graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/model_writer.h"
#include "ops/op.h"

namespace fettle::onnx_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// acme.Scale(x) {amount = 2}: x * amount, through a Constant node.
Message ScaleFunction() {
  return Function(
      {.domain = "acme",
       .name = "Scale",
       .inputs = {"x"},
       .outputs = {"y"},
       .nodes = {Node("Constant", {}, {"c"}, {RefAttribute("value_float", "amount", 1)}),
                 Node("Mul", {"x", "c"}, {"y"}, {}, "mul")},
       .defaults = {FloatAttribute("amount", 2)}});
}

Message CallGraph(const std::vector<Message>& nodes) {
  return Graph(
      {.nodes = nodes, .inputs = {Value("x", kFloat, {1})}, .outputs = {Value("y", kFloat, {1})}});
}

float Evaluated(const ir::Graph& graph, float x) {
  const auto input = Tensor::FromVector(Shape{1}, std::vector<float>{x});
  const auto outputs = ops::EvaluateGraph(graph, std::vector{*input});
  return outputs.ok() ? (*outputs)[0].as<float>()[0] : -1;
}

TEST(Functions, AreExpandedWithAttributesAndDefaults) {
  const auto graph = Import(
      Model(CallGraph({Node("Scale", {"x"}, {"h"}, {}, "twice", "acme"),
                       Node("Scale", {"h"}, {"y"}, {FloatAttribute("amount", 5)}, "", "acme")}),
            17, {ScaleFunction()}));
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(Evaluated(*graph, 3), 30);
  EXPECT_EQ(graph->nodes()[0].name, "twice/mul");
  EXPECT_EQ(graph->nodes()[1].name, "Scale_1/mul");
  EXPECT_TRUE(graph->FindValue("h").has_value());
  EXPECT_TRUE(graph->FindValue("twice/c").has_value());
}

TEST(Functions, MayCallFunctionsAndLeaveInputsOut) {
  const Message outer = Function(
      {.domain = "acme",
       .name = "Outer",
       .inputs = {"x", "unused"},
       .outputs = {"y"},
       .nodes = {Node("Scale", {"x"}, {"y"}, {RefAttribute("amount", "by", 1)}, "", "acme")}});
  const auto graph =
      Import(Model(CallGraph({Node("Outer", {"x"}, {"y"}, {FloatAttribute("by", 7)}, "", "acme")}),
                   17, {outer, ScaleFunction()}));
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(Evaluated(*graph, 2), 14);
}

TEST(Functions, RecursionIsRefusedWithItsChain) {
  const auto calls = [](const std::string& name, const std::string& callee) {
    return Function({.domain = "acme",
                     .name = name,
                     .inputs = {"x"},
                     .outputs = {"y"},
                     .nodes = {Node(callee, {"x"}, {"y"}, {}, "", "acme")}});
  };
  const auto graph = Import(Model(CallGraph({Node("F", {"x"}, {"y"}, {}, "", "acme")}), 17,
                                  {calls("F", "G"), calls("G", "F")}));
  EXPECT_THAT(Failure(graph),
              HasSubstr("function acme.F calls itself: acme.F -> acme.G -> acme.F"));
}

TEST(Functions, ThatGrowExponentiallyAreRefused) {
  std::vector<Message> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = fmt::format("F{}", i + 1);
    functions.push_back(Function({.domain = "acme",
                                  .name = fmt::format("F{}", i),
                                  .inputs = {"x"},
                                  .outputs = {"y"},
                                  .nodes = {Node(next, {"x"}, {"h"}, {}, "", "acme"),
                                            Node(next, {"h"}, {"y"}, {}, "", "acme")}}));
  }
  functions.push_back(Function({.domain = "acme",
                                .name = "F40",
                                .inputs = {"x"},
                                .outputs = {"y"},
                                .nodes = {Node("Relu", {"x"}, {"y"})}}));
  const auto graph =
      Import(Model(CallGraph({Node("F0", {"x"}, {"y"}, {}, "", "acme")}), 17, functions));
  EXPECT_EQ(graph.status().code(), StatusCode::kInvalidModel);
  EXPECT_THAT(Failure(graph), HasSubstr("expand"));
}

TEST(Functions, AnErrorNamesCallerAndBody) {
  const Message function = Function({.domain = "acme",
                                     .name = "F",
                                     .inputs = {"x"},
                                     .outputs = {"y"},
                                     .nodes = {Node("Add", {"x", "z"}, {"y"}, {}, "sum")}});
  const auto graph =
      Import(Model(CallGraph({Node("F", {"x"}, {"y"}, {}, "f", "acme")}), 17, {function}));
  EXPECT_EQ(Failure(graph),
            "m.onnx: node #0 'f' (acme.F, opset 1): node #0 'sum' (Add, opset 17): input 1 'z': no "
            "graph input, initialiser or node output has this name");
}

Message Branch(const std::vector<Message>& nodes) {
  return Graph({.nodes = nodes, .outputs = {Value("r", kFloat, {1})}});
}

TEST(SubGraphs, BothBranchesTakeAllCaptures) {
  const auto graph = Import(
      {.nodes = {Node("Neg", {"x"}, {"n"}),
                 Node("If", {"p"}, {"y"},
                      {GraphAttribute("then_branch", Branch({Node("Add", {"x", "w"}, {"r"})})),
                       GraphAttribute("else_branch", Branch({Node("Relu", {"n"}, {"r"})}))})},
       .inputs = {Value("x", kFloat, {1}), Value("p", kBool, {})},
       .outputs = {Value("y", kFloat, {1})},
       .initializers = {FloatTensor("w", {1}, {9})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  const ir::Node& node = graph->nodes()[1];
  EXPECT_EQ(node.op, "If");
  EXPECT_EQ(node.attributes.Int("captures"), 2);
  ASSERT_EQ(node.inputs.size(), 3u);
  for (const char* name : {"then_branch", "else_branch"}) {
    const auto branch = node.attributes.SubGraph(name);
    ASSERT_EQ(branch->inputs.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(branch->value(branch->inputs[i]).name, graph->value(node.inputs[i + 1]).name);
    }
  }
  // The captured constant is shared, not captured.
  const auto then_branch = node.attributes.SubGraph("then_branch");
  const auto w = then_branch->FindValue("w");
  ASSERT_TRUE(w.has_value());
  EXPECT_EQ(then_branch->value(*w).constant->GetDouble(0), 9);
}

TEST(SubGraphs, CapturesOfInnerGraphsPropagate) {
  const Message inner =
      Graph({.nodes = {Node("Identity", {"x"}, {"q"})}, .outputs = {Value("q", kFloat, {1})}});
  const Message outer =
      Branch({Node("If", {"p"}, {"r"},
                   {GraphAttribute("then_branch", inner), GraphAttribute("else_branch", inner)})});
  const auto graph = Import({.nodes = {Node("If", {"p"}, {"y"},
                                            {GraphAttribute("then_branch", outer),
                                             GraphAttribute("else_branch", outer)})},
                             .inputs = {Value("x", kFloat, {1}), Value("p", kBool, {})},
                             .outputs = {Value("y", kFloat, {1})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  const ir::Node& node = graph->nodes()[0];
  EXPECT_EQ(node.attributes.Int("captures"), 2);  // x and p
  const auto branch = node.attributes.SubGraph("else_branch");
  EXPECT_EQ(branch->nodes()[0].attributes.Int("captures"), 1);
}

TEST(SubGraphs, AValueWithTwoNamesIsCapturedOnce) {
  const Message branch = Branch({Node("Add", {"a", "b"}, {"r"})});
  const Message function = Function({.domain = "acme",
                                     .name = "Scale",
                                     .inputs = {"a", "b", "p"},
                                     .outputs = {"y"},
                                     .nodes = {Node("If", {"p"}, {"y"},
                                                    {GraphAttribute("then_branch", branch),
                                                     GraphAttribute("else_branch", branch)})}});
  const auto called =
      Import(Model(Graph({.nodes = {Node("Scale", {"x", "x", "p"}, {"h"}, {}, "", "acme")},
                          .inputs = {Value("x", kFloat, {1}), Value("p", kBool, {})},
                          .outputs = {Value("h", kFloat, {1})}}),
                   17, {function}));
  ASSERT_TRUE(called.ok()) << Failure(called);
  EXPECT_EQ(called->nodes()[0].attributes.Int("captures"), 1);
}

TEST(SubGraphs, ALoopGetsAllOutputsOfItsBody) {
  const Message body = Graph(
      {.nodes = {Node("Identity", {"c"}, {"c2"}), Node("Add", {"v", "x"}, {"v2"}),
                 Node("Neg", {"v2"}, {"s"})},
       .inputs = {Value("i", kInt64, {}), Value("c", kBool, {}), Value("v", kFloat, {1})},
       .outputs = {Value("c2", kBool, {}), Value("v2", kFloat, {1}), Value("s", kFloat, {1})}});
  const auto graph =
      Import({.nodes = {Node("Loop", {"m", "", "x"}, {"y"}, {GraphAttribute("body", body)})},
              .inputs = {Value("x", kFloat, {1}), Value("m", kInt64, {})},
              .outputs = {Value("y", kFloat, {1})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  const ir::Node& node = graph->nodes()[0];
  EXPECT_EQ(node.inputs.size(), 4u);  // m, no condition, x, and x again as a capture
  EXPECT_EQ(node.input(1), ir::kAbsent);
  EXPECT_EQ(node.outputs.size(), 2u);
  EXPECT_EQ(node.attributes.Int("captures"), 1);
}

TEST(SubGraphs, ThatDoNotFitTheirNodeAreRefused) {
  const auto loop = [](const Message& body) {
    return Failure(
        Import({.nodes = {Node("Loop", {"m", "", "x"}, {"y"}, {GraphAttribute("body", body)}, "l")},
                .inputs = {Value("x", kFloat, {1}), Value("m", kInt64, {})},
                .outputs = {Value("y", kFloat, {1})}}));
  };
  EXPECT_EQ(loop(Graph({.inputs = {Value("i", kInt64, {})}, .outputs = {Value("i", kInt64, {})}})),
            "m.onnx: node #0 'l' (Loop, opset 17): attribute 'body': the graph takes 1 inputs, "
            "expected 3");
  EXPECT_EQ(loop(Graph(
                {.inputs = {Value("i", kInt64, {}), Value("c", kBool, {}), Value("v", kFloat, {1})},
                 .outputs = {Value("c", kBool, {})}})),
            "m.onnx: node #0 'l' (Loop, opset 17): attribute 'body': the graph gives 1 outputs, "
            "expected 2 or more");
}

TEST(SubGraphs, MayNestOnlySoDeep) {
  Message graph = Branch({Node("Identity", {"x"}, {"r"})});
  for (int i = 0; i < 70; ++i) {
    graph = Branch({Node("If", {"p"}, {"r"}, {GraphAttribute("then_branch", graph)})});
  }
  const auto result = Import(Model(graph));
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidModel);
  EXPECT_THAT(Failure(result), HasSubstr("sub-graphs nest more than 64 deep"));
}

}  // namespace
}  // namespace fettle::onnx_test
