// Sequences, which become operators on tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/model_writer.h"
#include "ops/op.h"

namespace fettle::onnx_test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr int kPlaces = 6;

/// A graph of x, [2, 3], and p, an int64 scalar; c<i> and m<i> are the numbers i and -i, `sizes` is
/// [1, 2], `two` the scalar 2, `far` 9.
Result<ir::Graph> WithSequences(std::vector<Message> nodes) {
  std::vector<Message> constants{Int64Tensor("sizes", {2}, {1, 2}), Int64Tensor("two", {}, {2}),
                                 Int64Tensor("far", {}, {9}), Int64Tensor("pair", {2}, {0, 1})};
  for (int64_t i = 0; i < kPlaces; ++i) {
    constants.push_back(Int64Tensor("c" + std::to_string(i), {}, {i}));
    constants.push_back(Int64Tensor("m" + std::to_string(i), {}, {-i}));
  }
  return Import({.nodes = std::move(nodes),
                 .inputs = {Value("x", kFloat, {2, 3}), Value("p", kInt64, {})},
                 .outputs = {Message().Text(1, "y")},
                 .initializers = std::move(constants)});
}

/// y for x = [[0, 1, 2], [3, 4, 5]] and p = 1; one number 99 where that fails.
std::vector<double> Elements(const Result<ir::Graph>& graph) {
  if (!graph.ok()) return {99};
  const auto x = Tensor::FromVector(Shape{2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
  const auto p = Tensor::FromVector(Shape{}, std::vector<int64_t>{1});
  const auto outputs = ops::EvaluateGraph(*graph, std::vector{*x, *p});
  if (!outputs.ok()) return {99};
  std::vector<double> elements;
  for (int64_t i = 0; i < (*outputs)[0].elements(); ++i)
    elements.push_back((*outputs)[0].view().GetDouble(i));
  return elements;
}

Message Cut(int64_t axis, const std::vector<std::string>& sizes = {}, int64_t keepdims = 1) {
  std::vector<std::string> inputs{"x"};
  inputs.insert(inputs.end(), sizes.begin(), sizes.end());
  return Node("SplitToSequence", inputs, {"s"},
              {IntAttribute("axis", axis), IntAttribute("keepdims", keepdims)});
}

Message Take(const std::string& position, const std::string& from = "s") {
  return Node("SequenceAt", {from, position}, {"y"});
}

std::vector<Message> Rows() {
  return {Cut(0, {}, 0), Node("SequenceAt", {"s", "c0"}, {"first"}),
          Node("SequenceAt", {"s", "c1"}, {"second"}),
          Node("SequenceConstruct", {"first", "second"}, {"rows"})};
}

std::vector<Message> RowsAnd(const std::vector<Message>& more) {
  std::vector<Message> nodes = Rows();
  nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

struct Case {
  std::string name;
  std::vector<Message> nodes;
  std::vector<double> expected;
};

class Sequences : public testing::TestWithParam<Case> {};

TEST_P(Sequences, BecomeTensors) {
  const auto graph = WithSequences(GetParam().nodes);
  ASSERT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_THAT(Elements(graph), ElementsAreArray(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Sequences,
    testing::Values(
        Case{"RowOfOnes", {Cut(0, {}, 0), Take("c1")}, {3, 4, 5}},
        Case{"LastRow", {Cut(0, {}, 0), Take("m1")}, {3, 4, 5}},
        Case{"ColumnWithItsAxis", {Cut(1), Take("m2")}, {1, 4}},
        Case{"ComputedPosition", {Cut(0, {}, 0), Take("p")}, {3, 4, 5}},
        Case{"ComputedPositionWithAxis", {Cut(1), Take("p")}, {1, 4}},
        Case{"PartsOfTwo", {Cut(1, {"two"}), Take("c0")}, {0, 1, 3, 4}},
        Case{"SmallerLastPart", {Cut(1, {"two"}), Take("c1")}, {2, 5}},
        Case{"ListOfSizes", {Cut(1, {"sizes"}), Take("c1")}, {1, 2, 4, 5}},
        Case{"ListFromTheEnd", {Cut(1, {"sizes"}), Take("m2")}, {0, 3}},
        Case{"ComputedSizes",
             {Node("Add", {"p", "sizes"}, {"sums"}), Node("Sub", {"sums", "p"}, {"computed"}),
              Cut(1, {"computed"}), Take("c1")},
             {1, 2, 4, 5}},
        Case{"ComputedSize",
             {Node("Add", {"p", "p"}, {"computed"}), Cut(1, {"computed"}), Take("c1")},
             {2, 5}},
        Case{"LengthOfOnes", {Cut(1), Node("SequenceLength", {"s"}, {"y"})}, {3}},
        Case{"LengthOfParts", {Cut(1, {"two"}), Node("SequenceLength", {"s"}, {"y"})}, {2}},
        Case{"LengthOfList", {Cut(1, {"sizes"}), Node("SequenceLength", {"s"}, {"y"})}, {2}},
        Case{"LengthOfComputedParts",
             {Node("Add", {"p", "p"}, {"computed"}), Cut(1, {"computed"}),
              Node("SequenceLength", {"s"}, {"y"})},
             {2}},
        Case{"Together",
             {Cut(1, {"two"}), Node("ConcatFromSequence", {"s"}, {"y"}, {IntAttribute("axis", 1)})},
             {0, 1, 2, 3, 4, 5}},
        Case{"Stacked",
             {Cut(0, {}, 0), Node("ConcatFromSequence", {"s"}, {"y"},
                                  {IntAttribute("axis", 0), IntAttribute("new_axis", 1)})},
             {0, 1, 2, 3, 4, 5}},
        Case{"ThroughIdentity",
             {Cut(0, {}, 0), Node("Identity", {"s"}, {"t"}), Take("c1", "t")},
             {3, 4, 5}},
        Case{"Constructed", RowsAnd({Take("m2", "rows")}), {0, 1, 2}},
        Case{"ConstructedLength", RowsAnd({Node("SequenceLength", {"rows"}, {"y"})}), {2}},
        Case{"Joined",
             RowsAnd({Node("ConcatFromSequence", {"rows"}, {"y"}, {IntAttribute("axis", -1)})}),
             {0, 1, 2, 3, 4, 5}},
        Case{"JoinedAlongANewAxis",
             RowsAnd({Node("ConcatFromSequence", {"rows"}, {"y"},
                           {IntAttribute("axis", 1), IntAttribute("new_axis", 1)})}),
             {0, 3, 1, 4, 2, 5}},
        Case{"InsertedInFront",
             RowsAnd({Node("SequenceInsert", {"rows", "second", "m2"}, {"more"}),
                      Take("c0", "more")}),
             {3, 4, 5}},
        Case{"InsertedAtTheEnd",
             RowsAnd({Node("SequenceInsert", {"rows", "first"}, {"more"}), Take("c2", "more")}),
             {0, 1, 2}},
        Case{"Erased",
             RowsAnd({Node("SequenceErase", {"rows", "c0"}, {"less"}), Take("c0", "less")}),
             {3, 4, 5}},
        Case{"ErasedLast",
             RowsAnd({Node("SequenceErase", {"rows"}, {"less"}), Take("m1", "less")}),
             {0, 1, 2}},
        Case{"BeginningEmpty",
             {Node("SequenceEmpty", {}, {"none"}), Node("SequenceInsert", {"none", "x"}, {"one"}),
              Take("c0", "one")},
             {0, 1, 2, 3, 4, 5}}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(SequencesOf, AFunctionPassThroughIt) {
  const Message second = Function({.domain = "acme",
                                   .name = "Second",
                                   .inputs = {"s", "at"},
                                   .outputs = {"row"},
                                   .nodes = {Node("SequenceAt", {"s", "at"}, {"row"})}});
  const Message graph =
      Graph({.nodes = {Cut(0, {}, 0), Node("Second", {"s", "one"}, {"y"}, {}, "", "acme")},
             .inputs = {Value("x", kFloat, {2, 3}), Value("p", kInt64, {})},
             .outputs = {Message().Text(1, "y")},
             .initializers = {Int64Tensor("one", {}, {1})}});
  EXPECT_THAT(Elements(Import(Model(graph, 17, {second}))), ElementsAre(3, 4, 5));
}

struct Refusal {
  std::string name;
  std::vector<Message> nodes;
  std::string message;
};

class RefusedSequences : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedSequences, SayWhy) {
  EXPECT_THAT(Failure(WithSequences(GetParam().nodes)), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Of, RefusedSequences,
    testing::Values(
        Refusal{"FarPosition", RowsAnd({Take("far", "rows")}), "position 9 of a sequence of 2"},
        Refusal{"FarFromTheEnd", RowsAnd({Take("m3", "rows")}), "position -3 of a sequence of 2"},
        Refusal{"FarPart", {Cut(1, {"sizes"}), Take("far")}, "position 9 of a sequence of 2"},
        Refusal{"FarInsertion", RowsAnd({Node("SequenceInsert", {"rows", "x", "c3"}, {"y"})}),
                "position 3 of a sequence of 2"},
        Refusal{"PairOfPositions", RowsAnd({Take("pair", "rows")}), "expected one position"},
        Refusal{"ComputedPosition", RowsAnd({Take("p", "rows")}), "a position that is a constant"},
        Refusal{"NoSequence", {Take("c0", "x")}, "input 0: expected a sequence"},
        Refusal{"NoPosition", {Cut(0), Node("SequenceAt", {"s"}, {"y"})}, "input 1 is required"},
        Refusal{"SequenceOfSequences",
                {Cut(0), Node("SequenceConstruct", {"s"}, {"y"})},
                "input 0: expected a tensor"},
        Refusal{"Sum", {Cut(0), Node("Add", {"s", "x"}, {"y"})}, "value 's': is a sequence"},
        Refusal{"Output", {Cut(0), Node("Identity", {"s"}, {"y"})}, "value 'y': is a sequence"},
        Refusal{"UncountedEnd", {Cut(1, {"two"}), Take("m1")}, "that are not counted"},
        Refusal{"UncountedInsertion",
                {Cut(0), Node("SequenceInsert", {"s", "x"}, {"y"})},
                "whose number of tensors is known"},
        Refusal{"AnotherAxis",
                {Cut(0), Node("ConcatFromSequence", {"s"}, {"y"}, {IntAttribute("axis", 1)})},
                "whose number of tensors is known"},
        Refusal{"NoAxis", RowsAnd({Node("ConcatFromSequence", {"rows"}, {"y"})}),
                "attribute 'axis': is required"},
        Refusal{"Nothing",
                {Node("SequenceEmpty", {}, {"none"}),
                 Node("ConcatFromSequence", {"none"}, {"y"}, {IntAttribute("axis", 0)})},
                "a sequence without tensors"}),
    [](const testing::TestParamInfo<Refusal>& info) { return info.param.name; });

TEST(SequencesOf, ManyTensorsAreCopiedWithinALimit) {
  std::vector<Message> nodes{Node("SequenceEmpty", {}, {"s0"})};
  constexpr int kInserted = 2000;
  for (int i = 0; i < kInserted; ++i) {
    nodes.push_back(
        Node("SequenceInsert", {"s" + std::to_string(i), "x"}, {"s" + std::to_string(i + 1)}));
  }
  nodes.push_back(Take("c0", "s" + std::to_string(kInserted)));
  EXPECT_THAT(Failure(WithSequences(nodes)), HasSubstr("expand to too much data"));
}

}  // namespace
}  // namespace fettle::onnx_test
