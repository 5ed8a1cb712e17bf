#include "tuner/cost/accelerator_roofline.h"

#include <gtest/gtest.h>

#include "device/opencl/opencl_device.h"

namespace fettle::tuner {
namespace {

TEST(AcceleratorRooflineTest, TakesTheLargerOfArithmeticAndBytes) {
  const kernels::OpenClCeilings ceilings{
      .flops = 1e12, .read_rate = 1e11, .global_rate = 5e10, .launch_us = 2};
  EXPECT_NEAR(LeastMicroseconds({.operations = 1e9, .bytes = 1}, ceilings), 1000 / 1.25, 1e-6);
  EXPECT_NEAR(LeastMicroseconds({.operations = 1, .bytes = 1e8}, ceilings), 1000 / 1.25, 1e-6);
  EXPECT_NEAR(LeastMicroseconds({}, ceilings), 2 / 1.25, 1e-6);
  EXPECT_NEAR(LeastMicroseconds({.operations = 8e9, .ceiling = "int8 dot"}, ceilings), 1000 / 1.25,
              1e-6);
  EXPECT_EQ(LeastMicroseconds({.operations = 1e9}, {}), 0);
}

TEST(AcceleratorRooflineTest, KeepsWhatItProbed) {
  const auto device = OpenClDevice::Open();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const std::unique_ptr<Store> store = MemoryStore();
  const kernels::OpenClCeilings first = LoadAcceleratorCeilings(**device, *store);
  EXPECT_GT(first.flops, 1e8);
  EXPECT_GT(first.read_rate, 1e8);
  EXPECT_GE(first.read_rate, first.global_rate);
  EXPECT_GT(first.to_device_rate, 1e6);
  EXPECT_GT(first.to_host_rate, 1e6);
  const kernels::OpenClCeilings again = LoadAcceleratorCeilings(**device, *store);
  EXPECT_EQ(again.flops, first.flops);
  EXPECT_EQ(again.launch_us, first.launch_us);
  EXPECT_EQ(again.to_host_rate, first.to_host_rate);
}

}  // namespace
}  // namespace fettle::tuner
