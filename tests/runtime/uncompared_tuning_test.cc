// Tuning with no time to compare plans on a device beside the CPU.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "tests/opencl_device.h"
#include "tuner/model/tune_model.h"
#include "tuner/store/candidate.h"

namespace fettle::runtime {
namespace {

TEST(UncomparedTuningTest, WhatADeviceTakesBesideItsStepsIsLearnedFromTheDefaultPlan) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  ir::Graph graph = ops::Parse(R"(input %x: f32[1x8x12x16]
const %w: f32[16x8x3x3]
%a = Conv(%x, %w, _) {pads=[1,1,1,1]}
%b = Relu(%a)
output %b
)")
                        .value();
  const TensorMap inputs{{"x", ir::NoiseInputs(graph, 3).value()[0]}};
  const auto model = Model::FromGraph(std::move(graph), "small").value();
  const std::shared_ptr<tuner::Store> store = tuner::MemoryStore();
  tuner::TuneModelOptions options;
  options.session.threads = 2;
  options.session.accelerators = {*device};
  options.session.accelerator_only = true;
  options.tune.level = tuner::Level::kFast;
  options.deadline_ns = NowNs() + int64_t{300} * 1000 * 1000 * 1000;
  options.gate.seconds = 0;
  const Result<tuner::TuneModelResult> result = tuner::TuneModel(model, inputs, options, *store);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->gate.pairs, 0);
  EXPECT_GT(result->gate.incumbent_us, 0);
  EXPECT_GT(result->predicted_us, 0);
  const auto learned =
      store->Find(tuner::NetworksKey("beside the steps of a run", *device.value()));
  ASSERT_TRUE(learned.ok());
  EXPECT_EQ(learned->samples, 1) << "one network, the default plan's";
}

}  // namespace
}  // namespace fettle::runtime
