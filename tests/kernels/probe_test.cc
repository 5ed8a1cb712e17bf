#include "kernels/cpu/probe/probe.h"

#include <gtest/gtest.h>

namespace fettle::kernels {
namespace {

TEST(Probe, MeasuresWhatTheMachineHas) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const std::vector<Ceiling>& ceilings = Probe(device);
  for (const Ceiling& ceiling : ceilings) {
    EXPECT_GT(ceiling.value, 0) << ceiling.name;
    EXPECT_GE(ceiling.spread, 0) << ceiling.name;
    EXPECT_LE(ceiling.spread, 1) << ceiling.name;
  }
  EXPECT_GT(CeilingOf(device, "fp32 fma"), 0);
  EXPECT_GT(CeilingOf(device, "DRAM read"), 0);
  EXPECT_EQ(CeilingOf(device, "int8 dot") > 0, device.info().avx512_vnni);
  EXPECT_EQ(CeilingOf(device, "no such ceiling"), 0);
  EXPECT_EQ(&Probe(device), &ceilings);
}

}  // namespace
}  // namespace fettle::kernels
