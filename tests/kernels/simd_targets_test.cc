// Which instruction sets kernels run in.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdlib>

#include "kernels/cpu/conv_strips/strip.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

TEST(SimdTargets, AskingForThemLeavesDisabledOnesDisabled) {
  if (std::getenv("FETTLE_CPU_ISA") != nullptr) GTEST_SKIP() << "FETTLE_CPU_ISA disables some";
  const size_t all = SimdTargets().size();
  if (all < 2) GTEST_SKIP() << "this machine has one";
  hwy::DisableTargets(~HWY_STATIC_TARGET);
  ForceSimdTarget("");
  const int64_t lanes = GetStripKernels().lanes;
  EXPECT_EQ(SimdTargets().size(), 1U);
  EXPECT_EQ(GetStripKernels().lanes, lanes);
  hwy::DisableTargets(0);
  ForceSimdTarget("");
  EXPECT_EQ(SimdTargets().size(), all);
}

}  // namespace
}  // namespace fettle::kernels
