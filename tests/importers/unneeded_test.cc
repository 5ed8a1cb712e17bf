// What nothing that is asked for needs may be of any operator; looking at what cannot run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/model_writer.h"

namespace fettle::onnx_test {
namespace {

using testing::ElementsAre;

/// y = Relu(x); z = Relu(acme.Watch(y)), an output where `is_output`.
Message Watched(bool is_output) {
  GraphParts parts{
      .nodes = {Node("Relu", {"x"}, {"y"}), Node("Watch", {"y"}, {"seen"}, {}, "probe", "acme"),
                Node("Relu", {"seen"}, {"z"})},
      .inputs = {Value("x", kFloat, {2})},
      .outputs = {Value("y", kFloat, {2})}};
  if (is_output) parts.outputs.push_back(Value("z", kFloat, {2}));
  return Model(Graph(parts));
}

Result<ir::Graph> ImportWith(const Message& model, std::vector<std::string>* warnings,
                             const onnx::ImportOptions& options) {
  const auto owner = std::make_shared<std::string>(model.bytes());
  return onnx::ImportBytes(std::as_bytes(std::span(*owner)), owner, "m.onnx", "", warnings,
                           options);
}

TEST(Unneeded, AnUnknownOperatorThatNoOutputNeedsIsLeftOutWithALine) {
  std::vector<std::string> warnings;
  const auto graph = Import(Watched(false), &warnings);
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_THAT(warnings,
              ElementsAre("m.onnx: left out, as no output needs it: 1 unsupported operator: "
                          "acme.Watch (opset 1, 1 node, first #1 'probe')"));
  ASSERT_EQ(graph->outputs.size(), 1u);
  EXPECT_EQ(graph->value(graph->outputs[0]).name, "y");
}

TEST(Unneeded, OneThatAnOutputNeedsIsRefusedUnlessOthersAreAskedFor) {
  EXPECT_EQ(Failure(Import(Watched(true))),
            "m.onnx: 1 unsupported operator: acme.Watch (opset 1, 1 node, first #1 'probe')");
  const std::vector<std::string> y = {"y"}, seen = {"y", "seen"};
  std::vector<std::string> warnings;
  const auto graph = ImportWith(Watched(true), &warnings, {.outputs = y});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(graph->outputs.size(), 1u);
  EXPECT_EQ(warnings.size(), 2u);
  EXPECT_EQ(ImportWith(Watched(true), nullptr, {.outputs = seen}).status().code(),
            StatusCode::kUnsupported);
}

TEST(Unneeded, WhatItGivesIsAnInputWhereAModelIsLookedAt) {
  const auto graph = ImportWith(Watched(true), nullptr, {.unsupported_are_inputs = true});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  ASSERT_EQ(graph->inputs.size(), 2u);
  EXPECT_EQ(graph->value(graph->inputs[1]).name, "seen");
  EXPECT_EQ(graph->outputs.size(), 2u);
  EXPECT_EQ(ImportWith(Watched(false), nullptr, {.unsupported_are_inputs = true})->inputs.size(),
            1u);
}

/// Each of `count` nodes acme.Watch reads a Relu of its own; the file says of each that it gives
/// i64 of extent 3.
Message ManyWatched(int count) {
  GraphParts parts{.inputs = {Value("x", kFloat, {2})}};
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i), read = "y" + number, seen = "seen" + number;
    parts.nodes.push_back(Node("Relu", {"x"}, {read}));
    parts.nodes.push_back(Node("Watch", {read, read, "x"}, {seen}, {}, "", "acme"));
    parts.value_infos.push_back(Value(seen, kInt64, {3}));
    parts.outputs.push_back(Value(seen, kInt64, {3}));
  }
  return Model(Graph(parts));
}

// So many that no step may walk through all of the others for each.
TEST(Unneeded, ThousandsOfUnknownOperatorsGiveWhatTheFileSaysOfThem) {
  constexpr int kCount = 50000;
  const auto graph = ImportWith(ManyWatched(kCount), nullptr, {.unsupported_are_inputs = true});
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  ASSERT_EQ(graph->inputs.size(), 1u + kCount);
  EXPECT_EQ(graph->value(graph->inputs[kCount]).dtype, DType::kI64);
  EXPECT_EQ(graph->value(graph->inputs[kCount]).shape, Shape{3});
  // What each reads is kept once, and so is what each gives.
  EXPECT_EQ(graph->outputs.size(), 2u * kCount);
}

/// if (c) then acme.Watch(x), or x beside an acme.Watch that the branch does not need; else x.
Message Branching(bool needed) {
  const Message then_branch = Graph(
      {.nodes = {Node("Watch", {"x"}, {"t"}, {}, "probe", "acme"), Node("Relu", {"x"}, {"u"})},
       .outputs = {Value(needed ? "t" : "u", kFloat, {2})}});
  const Message else_branch =
      Graph({.nodes = {Node("Relu", {"x"}, {"e"})}, .outputs = {Value("e", kFloat, {2})}});
  return Model(Graph({.nodes = {Node("If", {"c"}, {"y"},
                                     {GraphAttribute("then_branch", then_branch),
                                      GraphAttribute("else_branch", else_branch)}),
                                Node("Relu", {"y"}, {"z"}), Node("Relu", {"x"}, {"w"})},
                      .inputs = {Value("x", kFloat, {2}), Value("c", kBool, {1})},
                      .outputs = {Value("z", kFloat, {2}), Value("w", kFloat, {2})}}));
}

TEST(Unneeded, BranchesAreJudgedByWhatTheyGive) {
  std::vector<std::string> warnings;
  const auto fine = Import(Branching(false), &warnings);
  ASSERT_TRUE(fine.ok()) << Failure(fine);
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(Failure(Import(Branching(true))),
            "m.onnx: 1 unsupported operator: acme.Watch (opset 1, 1 node, first #0 'probe')");
  const std::vector<std::string> w = {"w"};
  const auto asked = ImportWith(Branching(true), nullptr, {.outputs = w});
  ASSERT_TRUE(asked.ok()) << Failure(asked);
  EXPECT_EQ(asked->outputs.size(), 1u);
}

}  // namespace
}  // namespace fettle::onnx_test
