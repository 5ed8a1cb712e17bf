// What runs take beside their steps, and the pace of the host.
#include "tuner/cost/run_overhead.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "tuner/cost/host_pace.h"

namespace fettle::tuner {
namespace {

class RunOverheadTest : public testing::Test {
 protected:
  double Us() const { return RunOverheads(*store_).Us(device_); }
  void Learn(const RunSample& sample) { RunOverheads(*store_).Learn(device_, sample); }

  const std::unique_ptr<Store> store_ = MemoryStore();
  const CpuDevice device_{std::make_shared<ThreadPool>(1)};
};

TEST_F(RunOverheadTest, LearnsWhatWaitsTakeBesideTheSteps) {
  EXPECT_EQ(Us(), 0);
  Learn({500, 590});
  EXPECT_EQ(Us(), 0) << "nothing confirms it yet";
  Learn({2000, 2220, 2});
  const double first = Us();
  EXPECT_GT(first, 30);
  EXPECT_LT(first, 100) << "two runs leave a doubt";
  Learn({800, 901});
  Learn({90, 489, 4});
  EXPECT_GT(Us(), first);
  EXPECT_LT(Us(), 100);
}

TEST_F(RunOverheadTest, IsNotUsedWherePredictionsWouldHaveBeenWorse) {
  for (int i = 0; i < 4; ++i) {
    Learn({500, 600});
    Learn({800, 700});
  }
  EXPECT_EQ(Us(), 0) << "what one has over, the other lacks";
}

TEST_F(RunOverheadTest, IsNeverBelowZero) {
  for (int i = 0; i < 4; ++i) Learn({500, 400});
  EXPECT_EQ(Us(), 0);
}

TEST_F(RunOverheadTest, LearnsThePaceOfTheHost) {
  HostPaces paces(*store_);
  EXPECT_EQ(paces.Of(device_), 1);
  paces.Learn(device_, 0, 100);
  EXPECT_EQ(paces.Of(device_), 1) << "nothing was enqueued";
  paces.Learn(device_, 300, 450);
  EXPECT_DOUBLE_EQ(paces.Of(device_), 1.5);
  paces.Learn(device_, 450, 300);  // priced with what was learned
  EXPECT_DOUBLE_EQ(paces.Of(device_), 1.25) << "what is new counts half";
  paces.Learn(device_, 1, 1e9);
  EXPECT_LE(paces.Of(device_), 16);
}

}  // namespace
}  // namespace fettle::tuner
