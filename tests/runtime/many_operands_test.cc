// Operators that take any number of operands, and lengths that inputs name: computed as they are,
// or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

using testing::HasSubstr;

std::unique_ptr<Session> SessionAcross(const std::string& text, SessionOptions options) {
  Result<ir::Graph> graph = ops::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  const auto model = Model::FromGraph(std::move(graph).value(), "m");
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto session = Session::Create(*model, std::move(options));
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(session).value();
}

TEST(ManyOperands, AreAddedUpBeyondSixteenBits) {
  constexpr int kOperands = 40000;
  std::string text = "input %x: f32[3]\nconst %c: f32[] = 1\n%y = Sum(%x";
  for (int i = 1; i < kOperands; ++i) text += ", %c";
  const auto session = SessionAcross(text + ")\noutput %y\n", {.threads = 1});
  TensorMap outputs;
  const Tensor x = Tensor::FromVector(Shape{3}, std::vector<float>{0, 1, 2}).value();
  const Status status = session->Run({{"x", x}}, &outputs);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(outputs.at("y").as<float>()[i], static_cast<float>(kOperands - 1 + i));
}

TEST(AttentionLengths, BeyondTheBiasAreRefused) {
  const std::string text =
      "input %q: f32[1x1x64]\ninput %k: f32[1x1x32]\ninput %v: f32[1x1x32]\n"
      "input %pk: f32[1x2x12x16]\ninput %pv: f32[1x2x12x16]\ninput %b: f32[1x1x1x8]\n"
      "input %n: i32[1]\nconst %t: i32[] = 8\n%y, %nk, %nv = GroupQueryAttention("
      "%q, %k, %v, %pk, %pv, %n, %t, %b) {kv_num_heads=2, num_heads=4}\noutput %y\n";
  TensorMap inputs;
  for (const auto& [name, shape] : std::map<std::string, Shape>{{"q", {1, 1, 64}},
                                                                {"k", {1, 1, 32}},
                                                                {"v", {1, 1, 32}},
                                                                {"pk", {1, 2, 12, 16}},
                                                                {"pv", {1, 2, 12, 16}},
                                                                {"b", {1, 1, 1, 8}}})
    inputs[name] = Tensor::Create(DType::kF32, shape).value();
  for (const bool reference : {false, true}) {
    const auto session = SessionAcross(text, {.threads = 1, .reference_only = reference});
    TensorMap outputs;
    inputs["n"] = Tensor::FromVector(Shape{1}, std::vector<int32_t>{7}).value();
    EXPECT_TRUE(session->Run(inputs, &outputs).ok());
    // Twelve keys are there, and a bias for eight of them.
    inputs["n"] = Tensor::FromVector(Shape{1}, std::vector<int32_t>{9}).value();
    const Status status = session->Run(inputs, &outputs);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("does not fit"));
  }
}

}  // namespace
}  // namespace fettle::runtime
