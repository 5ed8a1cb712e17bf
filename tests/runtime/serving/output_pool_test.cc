// Memory of results that callers have let go of holds later ones.
#include "runtime/output_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/memory_budget.h"
#include "device/cpu/cpu_device.h"

namespace fettle::runtime {
namespace {

class OutputPoolTest : public testing::Test {
 protected:
  Tensor Take(int64_t floats) {
    Result<Tensor> tensor = pool_.Take(DType::kF32, Shape{floats}, devices_);
    EXPECT_TRUE(tensor.ok()) << tensor.status().message();
    EXPECT_EQ(tensor->shape(), Shape{floats});
    for (float& element : tensor->as<float>()) element = 1;
    return *std::move(tensor);
  }

  CpuDevice cpu_{std::make_shared<ThreadPool>(1)};
  DeviceSet devices_{cpu_};
  OutputPool pool_;
};

TEST_F(OutputPoolTest, LeavesAloneWhatSomebodyHolds) {
  Tensor held = Take(5000);
  const Tensor other = Take(5000);
  EXPECT_NE(other.data(), held.data());
  const std::byte* const free = held.data();
  held = Tensor();
  EXPECT_EQ(Take(5000).data(), free);
  EXPECT_EQ(pool_.blocks(), 2U);
  EXPECT_EQ(pool_.free_bytes(), 20000);
}

TEST_F(OutputPoolTest, HandsOutOneBlockAfterTheOther) {
  Tensor last = Take(5000);
  const std::byte* const first = last.data();
  last = Take(5000);
  const std::byte* const second = last.data();
  for (int turn = 0; turn < 3; ++turn) {
    last = Take(5000);
    EXPECT_EQ(last.data(), first);
    last = Take(5000);
    EXPECT_EQ(last.data(), second);
  }
}

TEST_F(OutputPoolTest, HasRoomForResultsThatGrow) {
  Tensor last;
  std::set<const std::byte*> seen;
  for (int64_t floats = 100000; floats < 150000; floats += 100) {
    last = Take(floats);
    seen.insert(last.data());
  }
  EXPECT_LT(seen.size(), 24U);
  EXPECT_LE(pool_.blocks(), 8U);
}

TEST_F(OutputPoolTest, HoldsWhatTheFirstResultNeeds) {
  Take(100000);
  EXPECT_EQ(pool_.free_bytes(), 400000);
}

TEST_F(OutputPoolTest, TakesNoMuchLargerMemory) {
  const std::byte* const large = Take(100000).data();
  EXPECT_NE(Take(50000).data(), large);
  EXPECT_EQ(Take(90000).data(), large);
}

TEST_F(OutputPoolTest, LetsGoOfWhatNobodyNeedsAnyMore) {
  Take(100000);
  Take(40000);
  for (int turn = 0; turn < 20; ++turn) Take(40000);
  EXPECT_EQ(pool_.blocks(), 2U);
  Take(4000);
  EXPECT_EQ(pool_.free_bytes(), 160000 + 16000);
}

TEST_F(OutputPoolTest, LetsGoOfFreeMemoryBeforeItFails) {
  const auto budget = std::make_shared<MemoryBudget>(1000000);
  const MemoryScope scope(budget);
  Take(200000);
  EXPECT_EQ(budget->used(), 800000);
  const Tensor held = Take(100000);
  EXPECT_EQ(budget->used(), 400000);
  const Result<Tensor> refused = pool_.Take(DType::kF32, Shape{200000}, devices_);
  EXPECT_EQ(refused.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(held.as<float>()[99999], 1);
}

TEST_F(OutputPoolTest, HasZerosBehindEachResult) {
  Take(1000);
  const Tensor less = Take(900);
  const auto* const behind = reinterpret_cast<const char*>(less.data()) + 3600;
  EXPECT_EQ(std::string(behind, kTensorSlack), std::string(kTensorSlack, '\0'));
}

}  // namespace
}  // namespace fettle::runtime
