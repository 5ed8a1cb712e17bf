// Sessions on a device that shares buffers with the host: the same results, and no copies.
#include <gmock/gmock.h>

#include <algorithm>

#include "ops/op.h"
#include "runtime/session.h"
#include "tests/opencl_device.h"

namespace fettle::runtime {
namespace {

constexpr const char* kGraph =
    "input %x: f32[1x8x6x6]\n%a = Relu(%x)\n%b = MaxPool(%a) {kernel_shape=[2, 2], strides=[2, "
    "2]}\n"
    "%y = Softmax(%b) {axis=-1}\noutput %y\n";

class SharedMemoryTest : public testing::TestWithParam<SharedVirtualMemory> {};

TEST_P(SharedMemoryTest, ComputesTheSame) {
  const auto& usual = TestOpenClDevice();
  if (!usual.ok()) GTEST_SKIP() << usual.status().message();
  const std::vector<OpenClListing> listings = ListOpenClDevices().value();
  const auto listing = std::find_if(listings.begin(), listings.end(),
                                    [&](const auto& row) { return row.device == (*usual)->id(); });
  const auto device = OpenClDevice::Open(*listing, {.svm = GetParam()});
  if (device.status().code() == StatusCode::kUnsupported) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.ok()) << device.status().message();

  const auto model = Model::FromGraph(ops::Parse(kGraph).value(), "model").value();
  std::vector<float> values(288);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 8;
  const TensorMap inputs{{"x", Tensor::FromVector({1, 8, 6, 6}, values).value()}};
  TensorMap expected, outputs;
  const auto cpu = Session::Create(model, {.threads = 1}).value();
  ASSERT_TRUE(cpu->Run(inputs, &expected).ok());
  const auto session =
      Session::Create(model, {.threads = 1, .accelerators = {*device}, .accelerator_only = true})
          .value();
  const Status status = session->Run(inputs, &outputs);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::span<float> want = expected.at("y").as<float>(), got = outputs.at("y").as<float>();
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
  if (!(*device)->facts().unified_memory) return;
  EXPECT_EQ(session->transfers().copies, 0);
  EXPECT_EQ(session->transfers().maps, 2);  // the input and the output
}

INSTANTIATE_TEST_SUITE_P(Runtime, SharedMemoryTest,
                         testing::Values(SharedVirtualMemory::kOff, SharedVirtualMemory::kCoarse,
                                         SharedVirtualMemory::kFine),
                         [](const auto& info) {
                           return std::string(info.param == SharedVirtualMemory::kOff ? "Off"
                                              : info.param == SharedVirtualMemory::kCoarse
                                                  ? "Coarse"
                                                  : "Fine");
                         });

}  // namespace
}  // namespace fettle::runtime
