// What the importer makes of sound models, one feature a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/model_writer.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "ops/op.h"
#include "tests/test_folder.h"

namespace fettle::onnx_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const ir::Value& ValueOf(const ir::Graph& graph, const std::string& name) {
  const auto id = graph.FindValue(name);
  FETTLE_CHECK(id.has_value(), name.c_str());
  return graph.value(*id);
}

std::vector<std::string> Ops(const ir::Graph& graph) {
  std::vector<std::string> ops;
  for (const ir::Node& node : graph.nodes()) ops.emplace_back(node.op);
  return ops;
}

TEST(Import, KeepsNamesShapesAndSymbols) {
  Message shape = Message().Sub(1, Message().Text(2, "batch")).Sub(1, Message().Int(1, 3));
  shape.Sub(1, Message());
  const Message type = Message().Sub(1, Message().Int(1, kFloat).Sub(2, shape));
  const auto graph = Import({.nodes = {Node("Relu", {"x"}, {"y"}, {}, "act")},
                             .inputs = {Message().Text(1, "x").Sub(2, type)},
                             .outputs = {Value("y", kFloat, {1, 3, 5})},
                             .name = "main"});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->name, "main");
  const ir::Value& x = graph->value(graph->inputs[0]);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, DType::kF32);
  EXPECT_EQ(*x.shape, (Shape{-1, 3, -1}));
  EXPECT_THAT(x.symbols, ElementsAre("batch", "", ""));
  EXPECT_EQ(graph->value(graph->outputs[0]).name, "y");
  EXPECT_EQ(graph->nodes()[0].name, "act");
  EXPECT_EQ(ir::Describe(graph->nodes()[0]), "node #0 'act' (Relu, opset 17)");
}

/// Exporters write these for every extent that they do not know: no two of them are one.
TEST(Import, ExtentsWithoutAName) {
  Message shape;
  for (const char* symbol : {"?", "-1", "None", "unk__17", "n"})
    shape.Sub(1, Message().Text(2, symbol));
  const Message type = Message().Sub(1, Message().Int(1, kFloat).Sub(2, shape));
  const auto graph = Import({.nodes = {Node("Relu", {"x"}, {"y"})},
                             .inputs = {Message().Text(1, "x").Sub(2, type)},
                             .outputs = {Value("y", kFloat, {1, 1, 1, 1, 1})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_THAT(graph->value(graph->inputs[0]).symbols, ElementsAre("", "", "", "", "n"));
}

TEST(Import, NodesWithoutANameAreCalledByOperatorAndIndex) {
  const auto graph = Import({.nodes = {Node("Relu", {"x"}, {"h"}), Node("Relu", {"h"}, {"y"})},
                             .inputs = {Value("x", kFloat, {2})},
                             .outputs = {Value("y", kFloat, {2})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->nodes()[0].name, "Relu_0");
  EXPECT_EQ(graph->nodes()[1].name, "Relu_1");
}

TEST(Import, InitialisersThatAreInputsAreConstants) {
  const auto graph = Import({.nodes = {Node("Add", {"x", "w"}, {"y"})},
                             .inputs = {Value("x", kFloat, {2}), Value("w", kFloat, {2})},
                             .outputs = {Value("y", kFloat, {2})},
                             .initializers = {FloatTensor("w", {2}, {3, 4})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  ASSERT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(ValueOf(*graph, "w").constant->GetDouble(1), 4);
}

TEST(Import, InitialisersThatAreInputsMayBeOverridden) {
  const Message model = Model(
      Graph({.nodes = {Node("Add", {"x", "w"}, {"h"}), Node("Mul", {"h", "v"}, {"y"})},
             .inputs = {Value("x", kFloat, {2}), Value("w", kFloat, {2})},
             .outputs = {Value("y", kFloat, {2})},
             .initializers = {FloatTensor("w", {2}, {3, 4}), FloatTensor("v", {2}, {5, 6})}}));
  const auto owner = std::make_shared<std::string>(model.bytes());
  const std::vector<std::string> overridden = {"w", "v", "nobody"};
  const auto graph = onnx::ImportBytes(std::as_bytes(std::span(*owner)), owner, "m.onnx", "",
                                       nullptr, {.overridden = overridden});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  ASSERT_EQ(graph->inputs.size(), 2u);
  EXPECT_EQ(graph->value(graph->inputs[1]).name, "w");
  EXPECT_FALSE(ValueOf(*graph, "w").is_constant());
  EXPECT_TRUE(ValueOf(*graph, "v").is_constant());  // no input of the graph
}

TEST(Import, AnOutputThatIsListedTwiceIsThereOnce) {
  const auto graph = Import({.nodes = {Node("Relu", {"x"}, {"y"})},
                             .inputs = {Value("x", kFloat, {2})},
                             .outputs = {Value("y", kFloat, {2}), Value("y", kFloat, {2})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->outputs.size(), 1u);
}

TEST(Import, RawDataStaysWhereItIs) {
  const auto bytes = std::make_shared<std::string>(
      Model(Graph({.nodes = {Node("Add", {"x", "w"}, {"y"})},
                   .inputs = {Value("x", kFloat, {2})},
                   .outputs = {Value("y", kFloat, {2})},
                   .initializers = {RawTensor("w", kFloat, {2}, std::string(8, '\x01'))}}))
          .bytes());
  const auto graph = onnx::ImportBytes(std::as_bytes(std::span(*bytes)), bytes, "m.onnx", "");
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  const auto* data = reinterpret_cast<const char*>(ValueOf(*graph, "w").constant->bytes().data());
  EXPECT_GE(data, bytes->data());
  EXPECT_LT(data, bytes->data() + bytes->size());
}

TEST(Import, ConstantNodesOfEachKind) {
  const auto constant = [](const Message& attribute) {
    return Import(
        {.nodes = {Node("Constant", {}, {"c"}, {attribute}), Node("Identity", {"c"}, {"y"})},
         .outputs = {Value("y", 0, {})}});
  };
  const auto check = [&](const Message& attribute, DType dtype, const Shape& shape, double last) {
    const auto graph = constant(attribute);
    ASSERT_TRUE(graph.ok()) << Failure(graph);
    const Constant& value = *ValueOf(*graph, "c").constant;
    EXPECT_EQ(value.dtype(), dtype);
    EXPECT_EQ(value.shape(), shape);
    EXPECT_EQ(value.GetDouble(value.elements() - 1), last);
  };
  check(FloatAttribute("value_float", 1.5f), DType::kF32, Shape{}, 1.5);
  check(IntAttribute("value_int", -7), DType::kI64, Shape{}, -7);
  check(IntsAttribute("value_ints", {1, 2, 3}), DType::kI64, Shape{3}, 3);
  check(Attribute("value_floats").Int(20, 6).Floats(7, {1, 2}), DType::kF32, Shape{2}, 2);
  check(TensorAttribute("value", FloatTensor("", {2, 1}, {5, 6})), DType::kF32, Shape{2, 1}, 6);
  EXPECT_EQ(Failure(constant(TextAttribute("value_string", "a"))),
            "m.onnx: 1 unsupported operator: Constant (opset 17, 1 node, first #0: attribute "
            "'value_string': constants of type string are not supported)");
  EXPECT_EQ(Failure(constant(Attribute("sparse_value").Int(20, 11).Text(22, ""))),
            "m.onnx: 1 unsupported operator: Constant (opset 17, 1 node, first #0: attribute "
            "'sparse_value': type sparse tensor is not supported)");
}

TEST(Import, AttributesWithoutATypeFieldAreRead) {
  const auto graph =
      Import({.nodes = {Node("Concat", {"x", "x"}, {"y"}, {Attribute("axis").Int(3, 1)})},
              .inputs = {Value("x", kFloat, {2, 2})},
              .outputs = {Value("y", kFloat, {2, 4})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->nodes()[0].attributes.Int("axis"), 1);
}

TEST(Import, NodesOutOfOrderAreSorted) {
  const auto graph = Import({.nodes = {Node("Relu", {"h"}, {"y"}), Node("Neg", {"x"}, {"h"})},
                             .inputs = {Value("x", kFloat, {2})},
                             .outputs = {Value("y", kFloat, {2})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_THAT(Ops(*graph), ElementsAre("Neg", "Relu"));
  EXPECT_EQ(graph->nodes()[0].source_index, 1);
}

TEST(Import, NodesWithoutOutputsAreLeftOut) {
  const auto graph = Import(
      {.nodes = {Node("Relu", {"x"}, {"y"}), Node("Neg", {"x"}, {}), Node("Unknown", {"x"}, {""})},
       .inputs = {Value("x", kFloat, {2})},
       .outputs = {Value("y", kFloat, {2})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_THAT(Ops(*graph), ElementsAre("Relu"));
}

TEST(Import, AnOutputThatIsAnotherValueGetsItsOwn) {
  const auto graph = Import({.nodes = {Node("Dropout", {"x"}, {"y"})},
                             .inputs = {Value("x", kFloat, {2})},
                             .outputs = {Value("y", kFloat, {2})}});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->value(graph->outputs[0]).name, "y");
  EXPECT_NE(graph->outputs[0], graph->inputs[0]);
}

TEST(Import, OldAndNewVersionsAreTriedWithAWarning) {
  const Message graph = Graph({.nodes = {Node("Relu", {"x"}, {"y"})},
                               .inputs = {Value("x", kFloat, {2})},
                               .outputs = {Value("y", kFloat, {2})}});
  std::vector<std::string> warnings;
  EXPECT_TRUE(Import(Model(graph, 17), &warnings).ok());
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_TRUE(Import(Model(graph, 6), &warnings).ok());
  EXPECT_TRUE(Import(Model(graph, 17, {}, 15), &warnings).ok());
  EXPECT_THAT(warnings, ElementsAre("m.onnx: opset 6 of ai.onnx is older than 7, trying anyway",
                                    "m.onnx: IR version 15 is outside 3 to 14, trying anyway"));
  EXPECT_EQ(Failure(Import(Model(graph, 29))),
            "m.onnx: opset 29 of ai.onnx: 28 is the newest supported");
}

TEST(Import, ScalesThatAreNoPositiveNumbersAreSaid) {
  const auto warnings_of = [](float first, float second) {
    const Message graph =
        Graph({.nodes = {Node("QuantizeLinear", {"x", "s"}, {"q"}, {}, "in"),
                         Node("DequantizeLinear", {"q", "t"}, {"y"})},
               .inputs = {Value("x", kFloat, {2})},
               .outputs = {Value("y", kFloat, {2})},
               .initializers = {FloatTensor("s", {}, {first}), FloatTensor("t", {}, {second})}});
    std::vector<std::string> warnings;
    const auto imported = Import(Model(graph, 17), &warnings);
    EXPECT_TRUE(imported.ok()) << Failure(imported);
    return warnings;
  };
  EXPECT_THAT(warnings_of(0.5f, 1e-20f), IsEmpty());
  EXPECT_THAT(warnings_of(0, 1),
              ElementsAre("m.onnx: node #0 'in' (QuantizeLinear, opset 17): the scale 0 is not a "
                          "positive number, it is computed as written"));
  EXPECT_THAT(
      warnings_of(-0.5f, std::numeric_limits<float>::quiet_NaN()),
      ElementsAre("m.onnx: node #0 'in' (QuantizeLinear, opset 17): the scale -0.5 is not a "
                  "positive number, it is computed as written (1 more of them)"));
}

TEST(Import, NamesEveryUnsupportedOperatorAtOnce) {
  const auto graph = Import(
      {.nodes = {Node("Foo", {"x"}, {"a"}, {}, "one"), Node("Bar", {"a"}, {"b"}, {}, "two", "acme"),
                 Node("Foo", {"b"}, {"c"}), Node("Relu", {"c"}, {"y"})},
       .inputs = {Value("x", kFloat, {2})},
       .outputs = {Value("y", kFloat, {2})}});
  EXPECT_EQ(graph.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(Failure(graph),
            "m.onnx: 2 unsupported operators: Foo (opset 17, 2 nodes, first #0 'one'), acme.Bar "
            "(opset 1, 1 node, first #1 'two')");
}

TEST(Import, AnOperatorOfAnotherOpsetSaysWhichOneIsSupported) {
  const auto graph = Import(Model(Graph({.nodes = {Node("Scan", {"x"}, {"y"})},
                                         .inputs = {Value("x", kFloat, {2})},
                                         .outputs = {Value("y", kFloat, {2})}}),
                                  8));
  EXPECT_EQ(Failure(graph),
            "m.onnx: 1 unsupported operator: Scan (opset 8, 1 node, first #0: is supported from "
            "opset 9 on)");
}

TEST(Import, BroadcastingByAttributeOfOldOpsets) {
  const auto graph =
      Import(Model(Graph({.nodes = {Node("Mul", {"x", "w"}, {"y"},
                                         {IntAttribute("broadcast", 1), IntAttribute("axis", 0)})},
                          .inputs = {Value("x", kFloat, {2, 2})},
                          .outputs = {Value("y", kFloat, {2, 2})},
                          .initializers = {FloatTensor("w", {2}, {10, 100})}}),
                   6));
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  const auto x = Tensor::FromVector(Shape{2, 2}, std::vector<float>{1, 2, 3, 4});
  const auto outputs = ops::EvaluateGraph(*graph, std::vector{*x});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_THAT((*outputs)[0].as<float>(), ElementsAre(10, 20, 300, 400));
}

TEST(Import, SummariseReadsTheDescription) {
  const TestFolder folder;
  const std::string path = folder.file("model.onnx");
  Message model = Model(Graph({}));
  model.Sub(14, Message().Text(1, "author").Text(2, "a\nb"));
  FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(model.bytes().data(), 1, model.bytes().size(), file);
  std::fclose(file);
  const auto summary = onnx::Summarise(path);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->ir_version, 8);
  EXPECT_EQ(summary->producer, "tests");
  EXPECT_THAT(summary->opsets, ElementsAre(std::pair("ai.onnx", 17), std::pair("acme", 1)));
  EXPECT_THAT(summary->metadata, ElementsAre(std::pair("author", "a?b")));
}

}  // namespace
}  // namespace fettle::onnx_test
