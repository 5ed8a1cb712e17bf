// Sessions on a device whose memory is not the host's: inputs and results go between the two, of
// several sessions at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "ops/op.h"
#include "runtime/session.h"
#include "tests/device/fake_opencl.h"
#include "tests/opencl_device.h"

namespace fettle::runtime {
namespace {

/// Inputs of 1.4 MB and results of 1.4 and 0.4 MB: pieces of several sizes.
constexpr const char* kTwoMemories =
    "input %x: f32[1x4x300x301]\n%y = Neg(%x)\n%a = Relu(%x)\n"
    "%z = MaxPool(%a) {kernel_shape=[2, 2], strides=[2, 2]}\noutput %y\noutput %z\n";

TensorMap InputsOf(int seed) {
  std::vector<float> values(4 * 300 * 301);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed) * 13) % 101) - 50;
  return {{"x", Tensor::FromVector({1, 4, 300, 301}, values).value()}};
}

bool Same(const TensorMap& got, const TensorMap& want) {
  return std::ranges::all_of(want, [&](const auto& entry) {
    const auto found = got.find(entry.first);
    return found != got.end() && std::ranges::equal(found->second.bytes(), entry.second.bytes());
  });
}

class TwoMemoriesTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto& usual = TestOpenClDevice();
    if (!usual.ok()) GTEST_SKIP() << usual.status().message();
    const std::vector<OpenClListing> listings = ListOpenClDevices().value();
    const auto listing = std::ranges::find_if(
        listings, [&](const auto& row) { return row.device == (*usual)->id(); });
    device_ = OpenClDevice::Open(*listing, {.own_memory = true}).value();
    const auto cpu = Session::Create(model_, {.threads = 1}).value();
    for (int seed = 0; seed < kSeeds; ++seed)
      ASSERT_TRUE(cpu->Run(InputsOf(seed), &want_.emplace_back()).ok());
  }
  std::unique_ptr<Session> NewSession(int threads) const {
    return Session::Create(
               model_, {.threads = threads, .accelerators = {device_}, .accelerator_only = true})
        .value();
  }

  static constexpr int kSeeds = 4;
  std::shared_ptr<const Model> model_ =
      Model::FromGraph(ops::Parse(kTwoMemories).value(), "model").value();
  std::shared_ptr<OpenClDevice> device_;
  std::vector<TensorMap> want_;  // by seeds
};

TEST_F(TwoMemoriesTest, SessionsAtOnceHaveTheirOwnResults) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      const auto session = NewSession(1 + t);
      TensorMap outputs;
      for (int run = 0; run < 12; ++run) {
        const int seed = (run + t) % kSeeds;
        const Status status = session->Run(InputsOf(seed), &outputs);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(Same(outputs, want_[static_cast<size_t>(seed)])) << run;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TwoMemoriesTest, ResultsThatAreHeldStayAndOutliveTheSession) {
  std::vector<TensorMap> held(kSeeds);
  {
    const auto session = NewSession(2);
    for (int seed = 0; seed < kSeeds; ++seed)
      ASSERT_TRUE(session->Run(InputsOf(seed), &held[static_cast<size_t>(seed)]).ok());
    EXPECT_EQ(session->transfers().maps, 0);
    EXPECT_TRUE(device_->IsPinned(held[0].at("y").data(), 4 * 300 * 301 * 4));
  }
  device_.reset();
  for (size_t seed = 0; seed < kSeeds; ++seed) EXPECT_TRUE(Same(held[seed], want_[seed])) << seed;
}

TEST_F(TwoMemoriesTest, AResultIsTheNextInput) {
  const auto session = NewSession(2);
  TensorMap outputs;
  ASSERT_TRUE(session->Run(InputsOf(1), &outputs).ok());
  const TensorMap again{{"x", outputs.at("y")}};
  ASSERT_TRUE(session->Run(again, &outputs).ok());
  EXPECT_TRUE(std::ranges::equal(outputs.at("y").bytes(), InputsOf(1).at("x").bytes()));
}

TEST(TwoMemoriesFailureTest, TheCpuComputesWhereTheDeviceIsLostWhileBytesTravel) {
  FakeOpenCl fake;
  const std::shared_ptr<const Device> device = fake.Open();
  const auto model = Model::FromGraph(ops::Parse(kTwoMemories).value(), "model").value();
  const auto session = Session::Create(model, {.threads = 1, .accelerators = {device}}).value();
  TensorMap outputs, want;
  ASSERT_TRUE(session->Run(InputsOf(0), &outputs).ok());
  fake.wait_result = CL_OUT_OF_RESOURCES;
  ASSERT_TRUE(session->Run(InputsOf(2), &outputs).ok());
  const auto cpu = Session::Create(model, {.threads = 1}).value();
  ASSERT_TRUE(cpu->Run(InputsOf(2), &want).ok());
  EXPECT_TRUE(Same(outputs, want));
}

}  // namespace
}  // namespace fettle::runtime
