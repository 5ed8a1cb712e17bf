#include "tuner/cost/accelerator_roofline.h"

#include <gtest/gtest.h>

#include "device/opencl/opencl_device.h"

namespace fettle::tuner {
namespace {

TEST(AcceleratorRooflineTest, TakesTheLargerOfArithmeticAndBytes) {
  const Ceilings ceilings{
      {"fp32 fma", 1e12}, {"cached read", 1e11}, {"global read", 5e10}, {"launch us", 2}};
  EXPECT_NEAR(LeastMicroseconds({.operations = 1e9, .bytes = 1}, ceilings), 1000 / 1.25, 1e-6);
  EXPECT_NEAR(LeastMicroseconds({.operations = 1, .bytes = 1e8}, ceilings), 1000 / 1.25, 1e-6);
  EXPECT_NEAR(LeastMicroseconds({}, ceilings), 2 / 1.25, 1e-6);
  EXPECT_NEAR(LeastMicroseconds({.operations = 8e9, .ceiling = "int8 dot"}, ceilings), 1000 / 1.25,
              1e-6);
  EXPECT_NEAR(LeastMicroseconds({.operations = 16e9, .ceiling = "f16 mma"}, ceilings), 1000 / 1.25,
              1e-6);
  EXPECT_EQ(LeastMicroseconds({.operations = 1e9}, {}), 0);
}

TEST(AcceleratorRooflineTest, KeepsWhatItProbed) {
  const auto device = OpenClDevice::Open();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const std::unique_ptr<Store> store = MemoryStore();
  const Ceilings first = LoadAcceleratorCeilings(**device, *store);
  EXPECT_GT(first.at("fp32 fma"), 1e8);
  EXPECT_GT(first.at("cached read"), 1e8);
  EXPECT_GE(first.at("cached read"), first.at("global read"));
  EXPECT_GT(first.at("host to device"), 1e6);
  EXPECT_GT(first.at("device to host"), 1e6);
  const Ceilings again = LoadAcceleratorCeilings(**device, *store);
  EXPECT_EQ(again.at("fp32 fma"), first.at("fp32 fma"));
  EXPECT_EQ(again.at("cached read"), first.at("cached read"));
  EXPECT_EQ(again.at("launch us"), first.at("launch us"));
}

}  // namespace
}  // namespace fettle::tuner
