#include "tuner/cost/accelerator_roofline.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "device/opencl/opencl_device.h"
#include "tuner/cost/ceilings.h"
#include "tuner/cost/roofline.h"

namespace fettle::tuner {
namespace {

CpuInfo Caches() {
  CpuInfo info;
  info.l1d_bytes = 1000;
  info.l2_bytes = 10000;
  return info;
}

TEST(CeilingsTest, KeptOnesAreNotMeasuredAgain) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const std::unique_ptr<Store> store = MemoryStore();
  std::vector<kernels::Ceiling> measured = {
      kernels::FromRepeats({"fp32 fma", "FLOP/s"}, {1e9, 3e9, 2e9}),
      kernels::FromRepeats({"fp32 fma, 4 cores", "FLOP/s"}, {7e9}),
      kernels::FromRepeats({"DRAM copy", "B/s"}, {1e9}),
      kernels::NotMeasured({"int8 dot", "OP/s"}, Unsupported("no"))};
  KeepCeilings(measured, device, *store);
  EXPECT_EQ(store->Find(CeilingKey("fp32 fma", device))->median_us, 2e9);
  EXPECT_EQ(LoadCeilings(device, *store), (Ceilings{{"DRAM copy", 1e9}, {"fp32 fma", 3e9}}));
  EXPECT_EQ(LoadCeilings(device, *store, 4).at("fp32 fma, 4 cores"), 7e9);
  // A slower moment does not lower what the device can do.
  measured = {kernels::FromRepeats({"fp32 fma", "FLOP/s"}, {1e9})};
  KeepCeilings(measured, device, *store);
  EXPECT_EQ(store->Find(CeilingKey("fp32 fma", device))->median_us, 1e9);
  EXPECT_EQ(LoadCeilings(device, *store).at("fp32 fma"), 3e9);
}

TEST(RooflineTest, NamesTheCeilingThatLimits) {
  const Ceilings ceilings = {{"fp32 fma", 1e9}, {"L1 read", 4e9},   {"L1 copy", 8e9},
                             {"L2 read", 2e9},  {"DRAM read", 1e9}, {"bit dot", 100e9}};
  const CpuInfo info = Caches();
  const Limit arithmetic = LimitOf({.operations = 1e6, .bytes = 10}, 1, ceilings, info);
  EXPECT_EQ(arithmetic.by, "fp32 fma");
  EXPECT_NEAR(arithmetic.us, 1000, 1e-9);
  EXPECT_EQ(LimitOf({.operations = 1e8, .ceiling = "bit dot"}, 1, ceilings, info).by, "bit dot");
  // In place each byte of the nearest cache moves twice.
  const Limit near = LimitOf({.bytes = 2000}, 1, ceilings, info);
  EXPECT_EQ(near.by, "L1 copy");
  EXPECT_NEAR(near.us, 0.25, 1e-9);
  EXPECT_NEAR(near.cold_us, 2, 1e-9);
  const Limit far = LimitOf({.bytes = 23000}, 1, ceilings, info);
  EXPECT_EQ(far.by, "DRAM read");
  EXPECT_NEAR(far.us, 0.25 + 10 + 1, 1e-9);
}

TEST(RooflineTest, WhatWorksInPlaceMayBeTheFastestWayThroughALevel) {
  const Ceilings ceilings = {
      {"L1 read", 4e9}, {"L1 copy", 8e9}, {"L1 update", 16e9}, {"DRAM read", 1e9}};
  const Limit limit = LimitOf({.bytes = 2000}, 1, ceilings, Caches());
  EXPECT_EQ(limit.by, "L1 update");
  EXPECT_NEAR(limit.us, 0.125, 1e-9);
}

TEST(RooflineTest, TakesWhatCoresDoTogetherWhereThatWasMeasured) {
  Ceilings ceilings = {{"fp32 fma", 1e9}, {"DRAM read", 1e9}};
  const kernels::Work work{.operations = 1e6};
  EXPECT_NEAR(LimitOf(work, 4, ceilings, {}).us, 250, 1e-9);
  ceilings["fp32 fma, 4 cores"] = 2e9;
  const Limit together = LimitOf(work, 4, ceilings, {});
  EXPECT_NEAR(together.us, 500, 1e-9);
  EXPECT_EQ(together.by, "fp32 fma, 4 cores");
}

TEST(RooflineTest, WhatNobodyMeasuredIsFasterThanAnyDevice) {
  const Ceilings ceilings = {{"fp32 fma", 1e9}};
  EXPECT_NEAR(LimitOf({.operations = 8e6, .ceiling = "int8 dot"}, 1, ceilings, {}).us, 1000, 1e-9);
}

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
  const Ceilings first = LoadCeilings(**device, *store);
  EXPECT_GT(first.at("fp32 fma"), 1e8);
  EXPECT_GT(first.at("cached read"), 1e8);
  EXPECT_GT(first.at("global read"), 1e6);
  EXPECT_GT(first.at("host to device"), 1e6);
  EXPECT_GT(first.at("device to host"), 1e6);
  const Ceilings again = LoadCeilings(**device, *store);
  EXPECT_EQ(again.at("fp32 fma"), first.at("fp32 fma"));
  EXPECT_EQ(again.at("cached read"), first.at("cached read"));
  EXPECT_EQ(again.at("launch us"), first.at("launch us"));
}

}  // namespace
}  // namespace fettle::tuner
