// Models that are wrong, by accident or by intent: one line that names what is wrong, no crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/model_writer.h"
#include "importers/onnx/wire.h"

namespace fettle::onnx_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// y = Add(x, w) with what a test puts in the place of its parts.
GraphParts Sound() {
  return {.nodes = {Node("Add", {"x", "w"}, {"y"}, {}, "sum")},
          .inputs = {Value("x", kFloat, {2})},
          .outputs = {Value("y", kFloat, {2})},
          .initializers = {FloatTensor("w", {2}, {3, 4})}};
}

TEST(Hostile, TheSoundModelIsSound) { EXPECT_EQ(Failure(Import(Sound())), ""); }

TEST(Hostile, BytesThatAreNoModel) {
  EXPECT_EQ(Failure(Import(std::string())),
            "m.onnx: the file holds no graph; is it an ONNX model?");
  EXPECT_THAT(Failure(Import(std::string("\x89PNG\r\n\x1a\n"))), StartsWith("m.onnx: "));
  EXPECT_THAT(Failure(Import(std::string("\x08\xff\xff\xff"))),
              HasSubstr("not an ONNX model"));  // a varint cut short
  EXPECT_THAT(Failure(Import(std::string("\x3a\xff\xff\xff\xff\x0f"
                                         "abc"))),
              HasSubstr("not an ONNX model"));  // a graph of 4 GiB
}

TEST(Hostile, EveryTruncationIsRefused) {
  const std::string bytes = Model(Graph(Sound())).bytes();
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto graph = Import(bytes.substr(0, size));
    if (!graph.ok()) ++refused;
  }
  // All but those that end between two fields after the graph.
  EXPECT_GE(refused, static_cast<int>(bytes.size()) - 3);
}

TEST(Hostile, UndefinedInputsAreNamed) {
  GraphParts parts = Sound();
  parts.initializers.clear();
  EXPECT_EQ(Failure(Import(parts)),
            "m.onnx: node #0 'sum' (Add, opset 17): input 1 'w': no graph input, initialiser or "
            "node output has this name");
}

TEST(Hostile, OutputsThatNobodyWritesAreNamed) {
  GraphParts parts = Sound();
  parts.outputs = {Value("z", kFloat, {2})};
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: output 'z': is never written");
  parts.outputs.clear();
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: the graph has no outputs");
}

TEST(Hostile, CyclesNameANode) {
  GraphParts parts = Sound();
  parts.nodes = {Node("Relu", {"x"}, {"h"}), Node("Add", {"h", "b"}, {"a"}, {}, "one"),
                 Node("Neg", {"a"}, {"b"}, {}, "two"), Node("Relu", {"b"}, {"y"})};
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: node #1 'one' (Add): is part of a cycle of nodes");
  parts.nodes = {Node("Add", {"x", "y"}, {"y"}, {}, "self")};
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: node #0 'self' (Add): is part of a cycle of nodes");
  parts.nodes = {Node("Relu", {"x"}, {"x"}, {}, "over"), Node("Relu", {"x"}, {"y"})};
  EXPECT_EQ(Failure(Import(parts)),
            "m.onnx: node #0 'over' (Relu): output 0 'x': a graph input or initialiser has this "
            "name");
}

TEST(Hostile, NamesThatComeTwiceAreRefused) {
  GraphParts parts = Sound();
  parts.nodes.push_back(Node("Relu", {"x"}, {"y"}, {}, "again"));
  EXPECT_EQ(Failure(Import(parts)),
            "m.onnx: node #1 'again' (Relu): writes value 'y', which node #0 'sum' (Add) writes");
  parts = Sound();
  parts.nodes[0] = Node("Split", {"x"}, {"y", "y"});
  EXPECT_THAT(Failure(Import(parts)), HasSubstr("writes value 'y'"));
  parts = Sound();
  parts.nodes[0] = Node("Relu", {"x"}, {"w"});
  EXPECT_THAT(Failure(Import(parts)),
              HasSubstr("output 0 'w': a graph input or initialiser has this name"));
  parts = Sound();
  parts.initializers.push_back(parts.initializers[0]);
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: initialiser 'w': is listed twice");
  parts = Sound();
  parts.inputs.push_back(parts.inputs[0]);
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: input 'x': is listed twice");
  parts = Sound();
  parts.nodes[0] = Node("Add", {"x", "w"}, {"y"}, {IntAttribute("k", 1), IntAttribute("k", 2)});
  EXPECT_THAT(Failure(Import(parts)), HasSubstr("attribute 'k': is listed twice"));
}

TEST(Hostile, RequiredInputsThatAreLeftOutAreRefused) {
  struct Row {
    std::string op;
    std::vector<std::string> inputs;
    int left_out;
  };
  for (const Row& row : {Row{"DequantizeLinear", {"", "w", "x"}, 0}, Row{"Add", {"x", ""}, 1},
                         Row{"Conv", {"x", "", "w"}, 1}, Row{"Concat", {"x", "", "w"}, 1},
                         Row{"MatMul", {"", "w"}, 0}, Row{"Relu", {""}, 0}}) {
    GraphParts parts = Sound();
    const bool joins = row.op == "Concat";
    parts.nodes[0] = Node(row.op, row.inputs, {"y"},
                          joins ? std::vector{IntAttribute("axis", 0)} : std::vector<Message>());
    EXPECT_THAT(Failure(Import(parts)),
                HasSubstr(fmt::format("input {} is required", row.left_out)))
        << row.op;
  }
}

TEST(Hostile, EmptyNamesAreRefused) {
  GraphParts parts = Sound();
  parts.initializers.push_back(FloatTensor("", {1}, {1}));
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: an initialiser has no name");
  parts = Sound();
  parts.inputs.push_back(Value("", kFloat, {1}));
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: a graph input has no name");
  parts = Sound();
  parts.outputs.push_back(Value("", kFloat, {1}));
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: a graph output has no name");
  parts = Sound();
  parts.nodes[0] = Node("", {"x"}, {"y"});
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: node #0: has no operator");
  parts = Sound();
  parts.nodes[0] = Node("Add", {"x", "w"}, {"y"}, {Message().Int(3, 1)});
  EXPECT_EQ(Failure(Import(parts)), "m.onnx: node #0: an attribute has no name");
}

TEST(Hostile, NamesThatAreNoTextAreRefusedOrCleaned) {
  GraphParts parts = Sound();
  parts.inputs = {Value("x\n\xff", kFloat, {2})};
  EXPECT_EQ(Failure(Import(parts)),
            "m.onnx: graph input 'x?"
            "?': not printable UTF-8");
  parts = Sound();
  parts.nodes[0] = Node("Add", {"x", "w"}, {"y"}, {}, "sum\x1b[31m");
  const auto graph = Import(parts);
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->nodes()[0].name, "sum?[31m");
  EXPECT_EQ(onnx::Printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac"), "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
  EXPECT_EQ(onnx::Printable("\xc0\x80\xed\xa0\x80"), "?????");  // overlong, surrogate
  EXPECT_LT(onnx::Printable(std::string(10000, 'a')).size(), 300u);
}

TEST(Hostile, ShapesOfInputs) {
  const auto with = [](const std::vector<int64_t>& dims) {
    GraphParts parts = Sound();
    parts.inputs = {Value("x", kFloat, dims)};
    return Failure(Import(parts));
  };
  EXPECT_EQ(with({-1, 2}), "");  // what some exporters write for an unknown extent
  EXPECT_EQ(with({2, -2}), "m.onnx: input 'x': dimension 1 is -2");
  EXPECT_EQ(with({int64_t{1} << 40, 1 << 20}),
            "m.onnx: input 'x': shape 1099511627776x1048576 is too large");
  EXPECT_EQ(with({INT64_MAX, INT64_MAX}),
            "m.onnx: input 'x': shape 9223372036854775807x9223372036854775807 is too large");
  EXPECT_EQ(with(std::vector<int64_t>(100, 1)), "m.onnx: input 'x': more than 32 dimensions");
}

TEST(Hostile, TensorsWhoseDataDoNotFit) {
  const auto with = [](const Message& tensor) {
    GraphParts parts = Sound();
    parts.initializers = {tensor};
    return Failure(Import(parts));
  };
  EXPECT_EQ(with(FloatTensor("w", {3}, {1, 2})),
            "m.onnx: initialiser 'w': shape 3 needs 3 values, the data holds 2");
  EXPECT_EQ(with(FloatTensor("w", {1}, {1, 2})),
            "m.onnx: initialiser 'w': shape 1 needs 1 values, the data holds 2");
  EXPECT_EQ(with(RawTensor("w", kFloat, {2}, "1234567")),
            "m.onnx: initialiser 'w': shape 2 of f32 needs 8 bytes of raw data, got 7");
  EXPECT_EQ(with(FloatTensor("w", {-2}, {1, 2})), "m.onnx: initialiser 'w': dimension 0 is -2");
  EXPECT_EQ(with(FloatTensor("w", {int64_t{1} << 39}, {1, 2})),
            "m.onnx: initialiser 'w': shape 549755813888 needs 549755813888 values, the data "
            "holds fewer");
  EXPECT_EQ(with(FloatTensor("w", {INT64_MAX, INT64_MAX, 2}, {1, 2})),
            "m.onnx: initialiser 'w': shape 9223372036854775807x9223372036854775807x2 is too "
            "large");
  EXPECT_EQ(with(TensorHeader("w", 99, {1})), "m.onnx: initialiser 'w': unknown element type 99");
  EXPECT_EQ(with(TensorHeader("w", 0, {1})), "m.onnx: initialiser 'w': unknown element type 0");
  EXPECT_EQ(with(FloatTensor("w", std::vector<int64_t>(33, 1), {1})),
            "m.onnx: initialiser 'w': more than 32 dimensions");
  EXPECT_THAT(with(TensorHeader("w", kFloat, {1}).Text(4, "abc")),
              HasSubstr("tensor: not an ONNX model"));
}

TEST(Hostile, UnsupportedTypesAreNamed) {
  const auto failure = [](const GraphParts& parts) {
    const auto graph = Import(parts);
    EXPECT_EQ(graph.status().code(), StatusCode::kUnsupported);
    return Failure(graph);
  };
  GraphParts parts = Sound();
  parts.inputs = {Value("x", kString, {2})};
  EXPECT_EQ(failure(parts), "m.onnx: input 'x': element type string is not supported");
  parts.inputs = {Message().Text(1, "x").Sub(2, Message().Sub(4, Message()))};
  EXPECT_EQ(failure(parts), "m.onnx: input 'x': type sequence is not supported");
  parts = Sound();
  parts.inputs.push_back(Value("s", kString, {2}));
  const auto graph = Import(parts);  // nobody reads the one that is not supported
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->inputs.size(), Sound().inputs.size());
  parts = Sound();
  parts.initializers = {TensorHeader("w", kComplex64, {2})};
  EXPECT_EQ(failure(parts), "m.onnx: initialiser 'w': element type complex64 is not supported");
  parts.initializers.push_back(FloatTensor("v", {2}, {1, 2}));
  parts.nodes = {Node("Add", {"x", "v"}, {"y"})};
  EXPECT_EQ(Failure(Import(parts)), "");  // nobody reads the one that is not supported
  parts = Sound();
  parts.outputs = {Message().Text(1, "y").Sub(2, Message().Sub(9, Message()))};
  EXPECT_EQ(failure(parts), "m.onnx: output 'y': type optional is not supported");
}

TEST(Hostile, AttributesOfUnknownKinds) {
  const auto with = [](const Message& attribute) {
    GraphParts parts = Sound();
    parts.nodes = {Node("Add", {"x", "w"}, {"y"}, {attribute}, "sum")};
    return Failure(Import(parts));
  };
  EXPECT_EQ(with(Attribute("k").Int(20, 77)),
            "m.onnx: node #0 'sum' (Add, opset 17): attribute 'k': unknown type 77");
  EXPECT_EQ(with(Attribute("k").Int(20, 5)),
            "m.onnx: node #0 'sum' (Add, opset 17): attribute 'k': has no graph");
  EXPECT_EQ(with(RefAttribute("k", "outer", 1)),
            "m.onnx: node #0 'sum' (Add, opset 17): attribute 'k': refers to 'outer' of a "
            "function, outside of any function");
  EXPECT_EQ(with(TensorAttribute("k", FloatTensor("", {3}, {1}))),
            "m.onnx: node #0 'sum' (Add, opset 17): attribute 'k': shape 3 needs 3 values, the "
            "data holds 1");
}

TEST(Hostile, AMillionNodesAreTheLimit) {
  Message graph;
  const Message node = Node("Relu", {"x"}, {});
  for (int64_t i = 0; i <= onnx::kMaxNodes; ++i) graph.Sub(1, node);
  EXPECT_EQ(Failure(Import(Model(graph))), "m.onnx: more than 1048576 nodes");
}

TEST(Hostile, OpsetsOutOfRange) {
  const std::string graph = Model(Graph(Sound())).bytes();
  EXPECT_EQ(Failure(Import(graph + Message().Sub(8, Opset("a", 0)).bytes())),
            "m.onnx: opset import of domain 'a': version 0");
  EXPECT_EQ(Failure(Import(Model(Graph(Sound()), 17, {}, 0))), "m.onnx: IR version 0");
}

}  // namespace
}  // namespace fettle::onnx_test
