#include "base/subnormals.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cfloat>
#include <thread>

namespace fettle {
namespace {

/// Whether results and operands below the smallest normal number count.
bool Keeps() {
  volatile float small = FLT_MIN;
  volatile float half = small * 0.5F;
  volatile float again = half * 2;
  return again != 0;
}

TEST(Subnormals, ScopesNestAndEnd) {
  const Subnormals before = CurrentSubnormals();
  {
    const SubnormalScope flush(Subnormals::kFlush);
#if defined(__x86_64__) || defined(__aarch64__)
    EXPECT_EQ(CurrentSubnormals(), Subnormals::kFlush);
    EXPECT_FALSE(Keeps());
#endif
    {
      const SubnormalScope keep(Subnormals::kKeep);
      EXPECT_EQ(CurrentSubnormals(), Subnormals::kKeep);
      EXPECT_TRUE(Keeps());
    }
#if defined(__x86_64__) || defined(__aarch64__)
    EXPECT_FALSE(Keeps());
#endif
  }
  EXPECT_EQ(CurrentSubnormals(), before);
}

TEST(Subnormals, TheRestOfTheModeIsItsOwners) {
  std::fesetround(FE_UPWARD);
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const SubnormalScope flush(Subnormals::kFlush);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    volatile double zero = 0;
    [[maybe_unused]] volatile double infinite = 1 / zero;
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST(Subnormals, OtherThreadsAreLeftAlone) {
  const SubnormalScope keep(Subnormals::kKeep);
  std::thread([] { const SubnormalScope flush(Subnormals::kFlush); }).join();
  EXPECT_TRUE(Keeps());
}

}  // namespace
}  // namespace fettle
