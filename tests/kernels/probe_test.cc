#include "kernels/cpu/probe/probe.h"

#include <gtest/gtest.h>

#include <set>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv_strips/strip.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

TEST(Probe, MeasuresWhatTheMachineHas) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const std::vector<Ceiling>& ceilings = Probe(device);
  std::set<std::string_view> names;
  for (const Ceiling& ceiling : ceilings) {
    EXPECT_GT(ceiling.value, 0) << ceiling.name;
    EXPECT_GE(ceiling.spread, 0) << ceiling.name;
    EXPECT_LE(ceiling.spread, 1) << ceiling.name;
    EXPECT_TRUE(names.insert(ceiling.name).second) << ceiling.name;
  }
  EXPECT_TRUE(names.contains("fp32 fma"));
  EXPECT_TRUE(names.contains("DRAM read"));
  EXPECT_EQ(names.contains("int8 dot"), device.info().avx512_vnni);
  EXPECT_EQ(names.contains("bf16 dot"), device.info().avx512_bf16);
  EXPECT_EQ(&Probe(device), &ceilings);
}

// Also run by itself with FETTLE_CPU_ISA, in a process that has not asked for them before.
TEST(SimdTargets, AskingForThemChangesNone) {
  const int64_t lanes = GetStripKernels().lanes;
  EXPECT_FALSE(SimdTargets().empty());
  EXPECT_EQ(GetStripKernels().lanes, lanes);
  if (!GetCpuInfo().avx512) EXPECT_LE(lanes, 8);
}

}  // namespace
}  // namespace fettle::kernels
