#include "kernels/cpu/probe/probe.h"

#include <gtest/gtest.h>

#include <set>

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

}  // namespace
}  // namespace fettle::kernels
