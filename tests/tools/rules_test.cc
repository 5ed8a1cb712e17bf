// Inputs, tolerances, statistics and skip lists: the rules of docs/cli.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "io/inputs.h"
#include "io/named_argument.h"
#include "io/test_case.h"
#include "jobs/options.h"
#include "report/judgement.h"
#include "report/statistics.h"
#include "report/table.h"
#include "tests/test_folder.h"

namespace fettle::tools {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

ir::Graph TwoInputs() {
  ir::Graph graph;
  graph.inputs.push_back(graph.AddValue({.name = "a", .dtype = DType::kF32, .shape = Shape{1, 4}}));
  graph.inputs.push_back(graph.AddValue({.name = "b=c", .dtype = DType::kI64, .shape = Shape{-1}}));
  return graph;
}

TEST(Shapes, AreParsedOrRefused) {
  const auto shapes = ParseShapes({"x=1x3x224x224", "a=b=7"});
  ASSERT_TRUE(shapes.ok()) << shapes.status().message();
  EXPECT_EQ(shapes->at("x"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(shapes->at("a=b"), (Shape{7}));
  for (const char* bad : {"x", "=1", "x=1x", "x=1xa", "x=-1", "x=1,2", "x=9999999999x9999999999"})
    EXPECT_FALSE(ParseShapes({bad}).ok()) << bad;
}

TEST(Inputs, AreMatchedByNameThenByOrder) {
  const ir::Graph graph = TwoInputs();
  const auto matched = MatchInputs(graph, {"b=c=const:3", "/dev/null"});
  ASSERT_TRUE(matched.ok()) << matched.status().message();
  EXPECT_EQ((*matched)[0].name, "b=c");
  EXPECT_EQ((*matched)[0].constant, 3.0);
  EXPECT_EQ((*matched)[1].name, "a");
  EXPECT_EQ((*matched)[1].file, "/dev/null");
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"no=x.npy"},
                                              {"a=const:x"},
                                              {"a=1", "a=2"},
                                              {"x", "y", "z"},
                                              {"b=c=const:nan"},
                                              {"b=c=const:1e30"},
                                              {"b=c=const:2.5"}})
    EXPECT_FALSE(MatchInputs(graph, bad).ok()) << bad[0];
}

TEST(Inputs, ANameEndsWhereItIsKnown) {
  EXPECT_EQ(PossibleNames("b=c=k=1.npy"), (std::vector<std::string>{"b", "b=c", "b=c=k"}));
  EXPECT_TRUE(PossibleNames("x.npy").empty());
  const auto split = [](const std::string& argument) {
    return SplitNamed(argument, [](const NamedText& text) { return text.name == "b=c"; });
  };
  ASSERT_TRUE(split("b=c=k=1.npy"));
  EXPECT_EQ(split("b=c=k=1.npy")->text, "k=1.npy");
  EXPECT_FALSE(split("b=d=k=1.npy"));
  EXPECT_EQ(FirstName("b=c=k"), "b");
  EXPECT_EQ(SplitNamedShape("b=c=1x2", "NAME=1x3").value().name, "b=c");
  EXPECT_EQ(SplitNamedShape("1x2", "NAME=1x3").status().message(), "expected NAME=1x3, got '1x2'");
}

float FirstOf(const char* name, uint64_t seed) {
  return SeedTensor(name, DType::kF32, {4}, false, seed).value().as<float>()[0];
}

TEST(Inputs, AreSeededByNameWithinTheirRange) {
  const Tensor floats = SeedTensor("x", DType::kF32, {1000}, false, 0).value();
  EXPECT_THAT(floats.as<float>(), Each(AllOf(Ge(-1.0f), Le(1.0f))));
  EXPECT_LT(*std::min_element(floats.as<float>().begin(), floats.as<float>().end()), -0.9f);
  const Tensor image = SeedTensor("x", DType::kF32, {1000}, true, 0).value();
  EXPECT_THAT(image.as<float>(), Each(Ge(0.0f)));
  const Tensor integers = SeedTensor("x", DType::kI64, {1000}, false, 0).value();
  EXPECT_THAT(integers.as<int64_t>(), Each(AnyOf(0, 1)));
  EXPECT_EQ(floats.as<float>()[0], FirstOf("x", 0));
  EXPECT_NE(FirstOf("x", 0), FirstOf("y", 0));
  EXPECT_NE(FirstOf("x", 0), FirstOf("x", 1));
}

TEST(Inputs, LookLikeImages) {
  EXPECT_TRUE(LooksLikeImage({1, 3, -1, -1}));
  EXPECT_TRUE(LooksLikeImage({1, 224, 224, 3}));
  EXPECT_FALSE(LooksLikeImage({1, 3, 1, 1}));
  EXPECT_FALSE(LooksLikeImage({1, 128, 20, 5}));
  EXPECT_FALSE(LooksLikeImage({3, 224, 224}));
}

Tensor Floats(const std::vector<float>& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size())}, values).value();
}

TEST(Judge, FloatsByTheRangeOfTheReference) {
  const Tensor want = Floats({0, 10, 5});
  EXPECT_TRUE(Judge(Floats({0.009f, 10, 5}), want, {}).ok);
  EXPECT_FALSE(Judge(Floats({0.011f, 10, 5}), want, {}).ok);
  EXPECT_TRUE(Judge(Floats({0.011f, 10, 5}), want, {.atol = 0.02, .rtol = {}}).ok);
  EXPECT_TRUE(Judge(Floats({0.09f, 10, 5}), want, {.floats = kNormalRule}).ok);
  EXPECT_FALSE(Judge(Floats({0.11f, 10, 5}), want, {.floats = kNormalRule}).ok);
  EXPECT_TRUE(Judge(Floats({0.29f, 10, 5}), want, {.floats = kLowRule}).ok);
  // Within 1e-2 of the range everywhere, but at 35 dB.
  EXPECT_FALSE(
      Judge(Floats({0.029f, 0.029f, 3.029f}), Floats({0, 0, 3}), {.floats = kNormalRule}).ok);
  EXPECT_FALSE(Judge(Floats({NAN, 10, 5}), want, {}).ok);
  EXPECT_TRUE(Judge(Floats({NAN, 1}), Floats({NAN, 1}), {}).ok);
  EXPECT_TRUE(Judge(Floats({2, 2}), Floats({2, 2}), {}).ok);
  EXPECT_FALSE(Judge(Floats({1, 2}), want, {}).ok);
}

Tensor BytesTensor(const std::vector<uint8_t>& values) {
  return Tensor::FromVector<uint8_t>({static_cast<int64_t>(values.size())}, values).value();
}

TEST(Judge, QuantisedByOneStepOnNearlyAll) {
  std::vector<uint8_t> want(2000, 100), got = want;
  got[3] = 101;
  got[4] = 110;
  EXPECT_TRUE(Judge(BytesTensor(got), BytesTensor(want), {}).ok);
  got[5] = got[6] = 90;
  EXPECT_FALSE(Judge(BytesTensor(got), BytesTensor(want), {}).ok);
  EXPECT_TRUE(Judge(Floats({0.5f, 1}), Floats({0, 1}), {}, 0.5).ok);
  EXPECT_FALSE(Judge(Floats({1, 1}), Floats({0, 1}), {}, 0.5).ok);
}

TEST(Statistics, OfKnownNumbers) {
  const Summary summary = Summarise({5, 1, 3, 2, 4});
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_NEAR(summary.p90, 4.6, 1e-9);
  EXPECT_NEAR(summary.stddev, 1.5811388, 1e-6);
  EXPECT_EQ(Summarise({}).median, 0);
}

TEST(Table, AlignsColumns) {
  Table table({{"name"}, {"ms", Table::Align::kRight}});
  table.Row({"a", "1.5"});
  table.Row({"größer", "10.25"});
  EXPECT_EQ(table.ToString(), "name       ms\na         1.5\ngrößer  10.25\n");
}

TEST(SkipList, FindsNamesAndPrefixes) {
  const TestFolder folder;
  const std::string path = folder.file("skips.txt");
  ASSERT_TRUE(WriteTextFile(path, "# comment\n\ntest_a needs strings\ntest_b_* training\n").ok());
  const auto list = SkipList::Read(path);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(*list->Find("test_a"), "needs strings");
  EXPECT_EQ(*list->Find("test_b_x"), "training");
  EXPECT_EQ(list->Find("test_ab"), nullptr);
  ASSERT_TRUE(WriteTextFile(path, "test_a\n").ok());
  EXPECT_THAT(SkipList::Read(path).status().message(), HasSubstr(":1:"));
}

}  // namespace
}  // namespace fettle::tools
