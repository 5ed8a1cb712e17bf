// Sessions that begin on the CPU and move to a device beside it: answers stay, failures are said.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "runtime/session.h"
#include "tensor/compare.h"
#include "tests/device/fake_opencl.h"
#include "tests/opencl_device.h"

namespace fettle::runtime {
namespace {

using testing::HasSubstr;
using StartStage = StartState::Stage;

constexpr std::string_view kTwoConvolutions = R"(input %x: f32[1x4x?x?]
const %v: f32[8x4x3x3]
const %w: f32[4x8x3x3]
%a = Conv(%x, %v, _) {pads=[1,1,1,1]}
%b = Relu(%a)
%c = Conv(%b, %w, _) {pads=[1,1,1,1]}
output %c
)";
constexpr std::string_view kRelu = "input %x: f32[1x4x8x8]\n%c = Relu(%x)\noutput %c\n";

Tensor Noise(int64_t size) {
  return ir::NoiseTensor(DType::kF32, {1, 4, size, size}, 7, {-1, 1}).value();
}

class FastStarts : public testing::Test {
 protected:
  FastStarts() {
    SetLogSink([this](LogLevel, std::string_view line) { Keep(line); }, LogLevel::kInfo);
  }
  ~FastStarts() override { SetLogSink(nullptr, LogLevel::kWarn); }

  void Load(std::string_view text) {
    model_ = Model::FromGraph(ops::Parse(std::string(text)).value(), "small").value();
    on_cpu_ = Session::Create(model_, {.threads = 1}).value();
  }
  std::unique_ptr<Session> Start(std::shared_ptr<const Device> device) {
    SessionOptions options{.threads = 1, .accelerators = {std::move(device)}};
    options.accelerator_only = options.starts_fast = true;
    return Session::Create(model_, options).value();
  }
  std::unique_ptr<Session> StartOpening(std::function<Result<SessionOptions>()> opens) {
    return Session::CreateOpening(model_, {.threads = 1}, "a late one", opens).value();
  }
  /// One run; its values are those of the CPU.
  void Run(Session& session, int64_t size = 8) {
    TensorMap got, want;
    ASSERT_TRUE(session.Run({{"x", Noise(size)}}, &got).ok());
    ASSERT_TRUE(on_cpu_->Run({{"x", Noise(size)}}, &want).ok());
    EXPECT_TRUE(
        Compare(got.at("c").view(), want.at("c").view(), KernelTolerance(DType::kF32, 72, 72))
            .ok());
  }
  void RunUntilOver(Session& session, int64_t size = 8) {
    while (session.start().stage == StartStage::kOnCpu) {
      Run(session, size);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void Keep(std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_ += std::string(line) + "\n";
  }
  std::string lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> on_cpu_;

 private:
  std::mutex mutex_;
  std::string lines_;
};

bool RanOn(const Session& session, std::string_view device) {
  return std::ranges::any_of(session.profile(),
                             [&](const exec::StepProfile& step) { return step.device == device; });
}

TEST_F(FastStarts, ValuesStayBeforeWhileAndAfterTheDeviceTakesOver) {
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  Load(kTwoConvolutions);
  const auto session = Start(*TestOpenClDevice());
  ASSERT_TRUE(session->Prepare({{"x", {1, 4, 8, 8}}}).ok());
  EXPECT_EQ(session->start().stage, StartStage::kOnCpu);
  EXPECT_TRUE(session->devices().beside_cpu().empty());
  Run(*session);
  EXPECT_TRUE(RanOn(*session, "cpu"));
  EXPECT_FALSE(RanOn(*session, "opencl"));
  RunUntilOver(*session);
  const StartState state = session->start();
  EXPECT_EQ(state.stage, StartStage::kMoved) << state.reason;
  EXPECT_GE(state.cpu_runs, 1);
  EXPECT_GT(state.seconds, 0);
  EXPECT_TRUE(RanOn(*session, "opencl"));
  EXPECT_FALSE(session->devices().beside_cpu().empty());
  Run(*session);
  Run(*session, 11);  // a shape that the CPU never saw
  EXPECT_TRUE(RanOn(*session, "opencl"));
  EXPECT_THAT(lines(), HasSubstr("small: the CPU answers while '"));
  EXPECT_THAT(lines(), HasSubstr("small: moves from the CPU to '"));
}

TEST_F(FastStarts, ShapesThatTheCpuSawAreReadyOnTheDevice) {
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  Load(kTwoConvolutions);
  const auto session = Start(*TestOpenClDevice());
  for (int i = 0; session->start().stage == StartStage::kOnCpu; ++i) Run(*session, 8 + i % 4);
  const int64_t programs = (*TestOpenClDevice())->program_statistics().built;
  for (int64_t size = 8; size < 12; ++size) Run(*session, size);
  if (session->start().cpu_runs >= 4) {
    EXPECT_EQ((*TestOpenClDevice())->program_statistics().built, programs);
  }
}

TEST_F(FastStarts, RunsOnTensorsOfTheCallersMoveToo) {
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  Load(kTwoConvolutions);
  const auto session = Start(*TestOpenClDevice());
  const BufferMap inputs = {{"x", std::make_shared<TensorBuffer>(Noise(8), false)}};
  TensorMap want, got;
  ASSERT_TRUE(on_cpu_->Run({{"x", Noise(8)}}, &want).ok());
  ASSERT_TRUE(session->PrepareOn(inputs, {}).ok());
  for (bool is_over = false; !is_over;) {
    is_over = session->start().stage != StartStage::kOnCpu;
    ASSERT_TRUE(session->RunOn(inputs, {}, &got).ok());
    EXPECT_TRUE(
        Compare(got.at("c").view(), want.at("c").view(), KernelTolerance(DType::kF32, 72, 72))
            .ok());
  }
  EXPECT_EQ(session->start().stage, StartStage::kMoved) << session->start().reason;
}

TEST_F(FastStarts, AProgramThatDoesNotCompileLeavesTheCpuAtWork) {
  FakeOpenCl fake;
  fake.build_result = CL_BUILD_PROGRAM_FAILURE;
  Load(kRelu);
  {
    const auto session = Start(fake.Open());
    RunUntilOver(*session);
    EXPECT_EQ(session->start().stage, StartStage::kStayed);
    EXPECT_THAT(session->start().reason, HasSubstr("nothing of the model ran there"));
    Run(*session);
    EXPECT_TRUE(RanOn(*session, "cpu"));
  }
  EXPECT_THAT(lines(), HasSubstr("'fake' fails, the CPU computes instead: "));
  EXPECT_THAT(lines(), HasSubstr("small: the CPU goes on, as 'fake' cannot take over: "));
}

TEST_F(FastStarts, EndAtAnyMomentAndWithoutARun) {
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  Load(kTwoConvolutions);
  Start(*TestOpenClDevice()).reset();
  for (int64_t size = 20; size < 24; ++size) {
    const auto session = Start(*TestOpenClDevice());
    Run(*session, size);
  }
  const auto session = Start(*TestOpenClDevice());
  std::atomic<bool> ends = false;
  std::thread canceller([&] {
    while (!ends) session->Cancel();
  });
  for (TensorMap got; session->start().stage == StartStage::kOnCpu;)
    (void)session->Run({{"x", Noise(8)}}, &got);
  ends = true;
  canceller.join();
  Run(*session);
}

TEST_F(FastStarts, TheCpuAnswersBeforeTheDeviceIsOpen) {
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  Load(kTwoConvolutions);
  std::atomic<bool> may_open = false;
  const auto session = StartOpening([&]() -> Result<SessionOptions> {
    may_open.wait(false);
    return SessionOptions{.threads = 1, .accelerators = {*TestOpenClDevice()}};
  });
  ASSERT_TRUE(session->Prepare({{"x", {1, 4, 8, 8}}}).ok());
  Run(*session);
  EXPECT_EQ(session->start().stage, StartStage::kOnCpu);
  EXPECT_EQ(session->start().cpu_runs, 1);
  EXPECT_FALSE(RanOn(*session, "opencl"));
  may_open = true;
  may_open.notify_all();
  RunUntilOver(*session);
  EXPECT_EQ(session->start().stage, StartStage::kMoved) << session->start().reason;
  EXPECT_TRUE(RanOn(*session, "opencl"));
  EXPECT_THAT(lines(), HasSubstr("small: the CPU answers while a late one gets ready"));
  EXPECT_THAT(lines(), HasSubstr("small: moves from the CPU to '"));
}

TEST_F(FastStarts, ADeviceThatDoesNotOpenLeavesTheCpuAtWork) {
  Load(kRelu);
  const std::function<Result<SessionOptions>()> refuses = []() -> Result<SessionOptions> {
    return Error(StatusCode::kDeviceUnavailable, "it is not plugged in");
  };
  const std::function<Result<SessionOptions>()> names_none = []() -> Result<SessionOptions> {
    return SessionOptions{.threads = 1, .accelerators = {nullptr}};
  };
  for (const auto& [opens, reason] : {std::pair(refuses, "it is not plugged in"),
                                      std::pair(names_none, "there is no device beside the CPU")}) {
    const auto session = StartOpening(opens);
    RunUntilOver(*session);
    EXPECT_EQ(session->start().stage, StartStage::kStayed);
    EXPECT_EQ(session->start().reason, reason);
    Run(*session);
    EXPECT_TRUE(RanOn(*session, "cpu"));
  }
  EXPECT_THAT(lines(), HasSubstr("small: the CPU goes on, as a late one cannot take over: it is"));
}

TEST_F(FastStarts, EndWhileTheDeviceOpens) {
  Load(kRelu);
  std::atomic<bool> opens = false, may_open = false;
  auto session = StartOpening([&]() -> Result<SessionOptions> {
    opens = true;
    opens.notify_all();
    may_open.wait(false);
    return SessionOptions{.threads = 1};
  });
  Run(*session);
  opens.wait(false);
  std::thread ends([&] { session.reset(); });
  may_open = true;
  may_open.notify_all();
  ends.join();
  EXPECT_EQ(session, nullptr);
}

TEST_F(FastStarts, AreNoneWithoutADevice) {
  Load(kRelu);
  SessionOptions options{.threads = 1};
  options.starts_fast = true;
  const auto session = Session::Create(model_, options).value();
  Run(*session);
  EXPECT_EQ(session->start().stage, StartStage::kWhole);
}

}  // namespace
}  // namespace fettle::runtime
