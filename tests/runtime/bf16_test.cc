// Sessions below high precision on the CPU alone: products of bf16, judged by f32.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/cpu/amx.h"
#include "device/cpu/cpu_device.h"
#include "ir/noise.h"
#include "kernels/cpu/simd/targets.h"
#include "kernels/kernel.h"
#include "ops/op.h"
#include "runtime/plan_accuracy.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

/// Two layers, large enough for tiles. The second one's weights are `v`.
std::shared_ptr<const Model> TwoLayers(std::string_view v) {
  return Model::FromGraph(ops::Parse(fmt::format("input %x: f32[64x128]\n"
                                                 "const %w: f32[128x128] = noise(-0.2, 0.2)\n"
                                                 "const %v: f32[128x128] = {}\n"
                                                 "%a = MatMul(%x, %w)\n%b = Relu(%a)\n"
                                                 "%y = MatMul(%b, %v)\noutput %y\n",
                                                 v))
                              .value(),
                          "two layers")
      .value();
}

TensorMap Inputs(const Model& model) {
  return {{"x", ir::NoiseInputs(model.graph(), 1).value()[0]}};
}

/// Whether this machine and this build multiply tiles of bf16.
bool HasTiles() {
  return GetAmxSets().bf16 && GetCpuInfo().avx512_bf16 && kernels::RunsSimdTarget("AVX3");
}

bool Rounds(const Session& session) {
  return std::ranges::any_of(session.profile(), RoundsTo16Bits);
}

TEST(SessionInBf16, KeepsToF32AtHighPrecision) {
  const auto model = TwoLayers("noise(-0.2, 0.2)");
  const auto session = Session::Create(model, {.threads = 1}).value();
  TensorMap outputs;
  ASSERT_TRUE(session->Run(Inputs(*model), &outputs).ok());
  EXPECT_FALSE(Rounds(*session));
}

TEST(SessionInBf16, MultipliesTilesBelowIt) {
  const auto model = TwoLayers("noise(-0.2, 0.2)");
  const TensorMap inputs = Inputs(*model);
  TensorMap want, got;
  ASSERT_TRUE(Session::Create(model, {.threads = 2}).value()->Run(inputs, &want).ok());
  for (const auto precision : {planner::Precision::kNormal, planner::Precision::kLow}) {
    const auto session = Session::Create(model, {.threads = 2, .precision = precision}).value();
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(session->Run(inputs, &got).ok());
      const planner::PlanAccuracy accuracy =
          CompareOutputs(got, want, LimitsFor(model->graph(), precision));
      EXPECT_TRUE(accuracy.ok) << accuracy.reason;
    }
    EXPECT_EQ(session->limits().precision, precision);
    EXPECT_EQ(Rounds(*session), HasTiles());
  }
}

TEST(SessionInBf16, GivesUpWhatCancels) {
  // Each output is the sum of the rows' elements less 128 times their mean, which is nearly 0.
  const auto model =
      Model::FromGraph(ops::Parse("input %x: f32[64x128]\nconst %w: f32[128x128] = splat 1.0\n"
                                  "const %c: f32[] = 128000.0\n%a = MatMul(%x, %w)\n"
                                  "%y = Sub(%a, %c)\noutput %y\n")
                           .value(),
                       "cancels")
          .value();
  Tensor x = Tensor::Create(DType::kF32, Shape{64, 128}).value();
  for (int64_t i = 0; i < x.elements(); ++i) x.as<float>()[i] = i % 2 == 0 ? 1001.F : 999.5F;
  const auto session =
      Session::Create(model, {.threads = 1, .precision = planner::Precision::kNormal}).value();
  TensorMap outputs;
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(session->Run({{"x", x}}, &outputs).ok());
    for (const float element : outputs.at("y").as<float>()) ASSERT_EQ(element, 32);
  }
  EXPECT_EQ(session->limits().precision,
            HasTiles() ? planner::Precision::kHigh : planner::Precision::kNormal);
}

}  // namespace
}  // namespace fettle::runtime
