// Tuning while serving on an OpenCL device: requests beside it keep their answers.
#include <gtest/gtest.h>

#include <thread>

#include "base/foreground.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "tensor/compare.h"
#include "tests/opencl_device.h"
#include "tuner/model/background_tuning.h"

namespace fettle::runtime {
namespace {

TEST(BackgroundTuningOnADevice, RequestsBesideItAndAfterSwapsKeepTheirAnswers) {
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  const auto model = Model::FromGraph(ops::Parse(R"(input %x: f32[1x4x8x8]
const %w: f32[8x4x3x3]
%a = Conv(%x, %w, _) {pads=[1,1,1,1]}
output %a
)")
                                          .value(),
                                      "small")
                         .value();
  const Tensor given = ir::NoiseTensor(DType::kF32, {1, 4, 8, 8}, 7, {-1, 1}).value();
  TensorMap want, got;
  const auto on_cpu = Session::Create(model, {.threads = 1}).value();
  ASSERT_TRUE(on_cpu->Run({{"x", given}}, &want).ok());
  SessionOptions options{
      .threads = 1, .accelerators = {*TestOpenClDevice()}, .accelerator_only = true};
  std::shared_ptr<Session> session = Session::Create(model, options).value();
  const BufferMap inputs = {{"x", std::make_shared<TensorBuffer>(given, false)}};
  for (const int swaps : {3, 0}) {
    tuner::BackgroundTuning background(
        model, options,
        {.level = tuner::Level::kFast, .share = swaps > 0 ? 1.0 : 0.0, .forced_swaps = swaps});
    while (!background.state().is_over() && (swaps > 0 || background.state().measured < 2)) {
      {
        const Foreground::Request request;
        background.Exchange(session, options);
        ASSERT_TRUE(session->RunOn(inputs, {}, &got).ok());
        background.Observe(inputs);
      }
      EXPECT_TRUE(
          Compare(got.at("a").view(), want.at("a").view(), KernelTolerance(DType::kF32, 36, 36))
              .ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(background.state().swaps, swaps);
  }
}

}  // namespace
}  // namespace fettle::runtime
