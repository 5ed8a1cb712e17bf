// Shapes for models with open extents: the defaults, empty tensors, and symbols that disagree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const Model> LoadText(std::string_view text) {
  return Model::FromGraph(ops::Parse(text).value(), "model").value();
}

/// A decoder's step: what is known so far and what is new, joined.
std::shared_ptr<const Model> Decoder() {
  ir::Graph graph = ops::Parse(
                        "input %past: f32[?x?x4]\ninput %new: f32[?x2x4]\n"
                        "%all = Concat(%past, %new) {axis=1}\n%y = Relu(%all)\noutput %y\n")
                        .value();
  graph.value(graph.inputs[0]).symbols = {"batch", "past", ""};
  graph.value(graph.inputs[1]).symbols = {"batch", "", ""};
  return Model::FromGraph(std::move(graph), "model").value();
}

TEST(DefaultShapesTest, KeepsExtentsOfZeroThatAreGiven) {
  const auto model = Decoder();
  std::vector<std::string> warnings;
  const auto past = DefaultShapes(*model, {{"past", {1, 0, 4}}}, &warnings);
  ASSERT_TRUE(past.ok()) << past.status().message();
  EXPECT_EQ(past->at("new"), (Shape{1, 2, 4}));
  const auto batch = DefaultShapes(*model, {{"past", {0, 3, 4}}, {"new", {0, 2, 4}}}, &warnings);
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  const auto follows = DefaultShapes(*model, {{"new", {0, 2, 4}}}, &warnings);
  ASSERT_TRUE(follows.ok()) << follows.status().message();
  EXPECT_EQ(follows->at("past")[0], 0);
}

TEST(DefaultShapesTest, EmptyInputsRun) {
  const auto model = Decoder();
  const auto session = Session::Create(model, {.threads = 1}).value();
  const auto run = [&](const Shape& past, const Shape& added) {
    TensorMap outputs;
    const Status status = session->Run({{"past", Tensor::Create(DType::kF32, past).value()},
                                        {"new", Tensor::Create(DType::kF32, added).value()}},
                                       &outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? outputs.at("y").shape() : Shape{};
  };
  EXPECT_EQ(run({1, 0, 4}, {1, 2, 4}), (Shape{1, 2, 4}));
  EXPECT_EQ(run({0, 3, 4}, {0, 2, 4}), (Shape{0, 5, 4}));
}

TEST(DefaultShapesTest, InputsAreCheckedAgainWheneverTheirTypesChange) {
  const auto session = Session::Create(Decoder(), {.threads = 1}).value();
  const auto run = [&](const Shape& past, const Shape& added, DType dtype = DType::kF32) {
    TensorMap outputs;
    const Status status = session->Run({{"past", Tensor::Create(dtype, past).value()},
                                        {"new", Tensor::Create(DType::kF32, added).value()}},
                                       &outputs);
    return status.ok() ? outputs.at("y").shape().ToString() : status.message();
  };
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(run({1, 3, 4}, {1, 2, 4}), "1x5x4");
    EXPECT_EQ(run({1, 3, 4}, {1, 2, 4}), "1x5x4");
    EXPECT_THAT(run({2, 3, 4}, {1, 2, 4}), HasSubstr("batch"));
    EXPECT_THAT(run({1, 3, 4}, {1, 2, 4}, DType::kF64), HasSubstr("expected type"));
    EXPECT_THAT(run({1, 3, 5}, {1, 2, 4}), HasSubstr("expected "));
    EXPECT_EQ(run({2, 3, 4}, {2, 2, 4}), "2x5x4");
  }
  TensorMap outputs;
  const auto one = Tensor::Create(DType::kF32, {2, 3, 4}).value();
  EXPECT_THAT(session
                  ->Run({{"past", one},
                         {"new", Tensor::Create(DType::kF32, {2, 2, 4}).value()},
                         {"more", one}},
                        &outputs)
                  .message(),
              HasSubstr("no input 'more'"));
}

TEST(DefaultShapesTest, InputsThatGiveASymbolTwoExtentsAreBothNamed) {
  const auto model = Decoder();
  std::vector<std::string> warnings;
  const auto disagree = [](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(),
                HasSubstr("inputs 'past' and 'new': 'batch' is one extent, but 2 in axis 0 of the "
                          "first and 3 in axis 0 of the second"));
    EXPECT_THAT(status.message(), Not(HasSubstr("no default shape")));
  };
  disagree(DefaultShapes(*model, {{"past", {2, 1, 4}}, {"new", {3, 2, 4}}}, &warnings).status());
  const auto session = Session::Create(model, {.threads = 1}).value();
  TensorMap outputs;
  disagree(session->Run({{"past", Tensor::Create(DType::kF32, {2, 1, 4}).value()},
                         {"new", Tensor::Create(DType::kF32, {3, 2, 4}).value()}},
                        &outputs));
  disagree(session->Prepare({{"past", {2, 1, 4}}, {"new", {3, 2, 4}}}));
}

TEST(DefaultShapesTest, AnInputThatGivesASymbolTwoExtentsIsNamedOnce) {
  ir::Graph graph = ops::Parse("input %x: f32[?x3x?]\n%y = Relu(%x)\noutput %y\n").value();
  graph.value(graph.inputs[0]).symbols = {"n", "", "n"};
  const auto model = Model::FromGraph(std::move(graph), "model").value();
  std::vector<std::string> warnings;
  EXPECT_EQ(DefaultShapes(*model, {{"x", {1, 3, 48}}}, &warnings).status().message(),
            "model: input 'x': 'n' is one extent, but 1 in axis 0 and 48 in axis 2");
}

TEST(DefaultShapesTest, ShapesThatAreAllGivenAreBlamedThemselves) {
  const auto model =
      LoadText("input %a: f32[?x4]\ninput %b: f32[?x4]\n%y = MatMul(%a, %b)\noutput %y\n");
  std::vector<std::string> warnings;
  const Status status = DefaultShapes(*model, {{"a", {2, 4}}, {"b", {3, 4}}}, &warnings).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("the inputs' shapes do not fit"));
  EXPECT_THAT(status.message(), Not(HasSubstr("--shape")));
}

TEST(DefaultShapesTest, DefaultsAreNotEmpty) {
  const auto model =
      LoadText("input %x: f32[1x1x?x?]\n%y = MaxPool(%x) {kernel_shape=[40, 40]}\noutput %y\n");
  std::vector<std::string> warnings;
  const auto shapes = DefaultShapes(*model, {}, &warnings);
  ASSERT_TRUE(shapes.ok()) << shapes.status().message();
  EXPECT_EQ(shapes->at("x"), (Shape{1, 1, 64, 64}));
}

}  // namespace
}  // namespace fettle::runtime
