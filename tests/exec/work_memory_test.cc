// Memory that plans of growing shapes run in.
#include "exec/work_memory.h"

#include <gtest/gtest.h>

#include "base/memory_budget.h"
#include "device/cpu/cpu_device.h"

namespace fettle::exec {
namespace {

class WorkMemoryTest : public testing::Test {
 protected:
  /// Where the arena lies behind a plan of so many bytes.
  const std::byte* Reserve(int64_t bytes) {
    MemoryPlan plan;
    plan.devices.resize(1);
    plan.devices[0].bytes = bytes;
    const Status status = memory_.Reserve(plan, cpu_);
    EXPECT_TRUE(status.ok()) << status.message();
    return memory_.bytes(0, 0).host<std::byte>();
  }

  CpuDevice cpu_{std::make_shared<ThreadPool>(1)};
  WorkMemory memory_;
};

TEST_F(WorkMemoryTest, HasRoomForShapesThatGrow) {
  Reserve(80000);
  const std::byte* const arena = Reserve(80100);
  EXPECT_EQ(Reserve(80200), arena);
  EXPECT_EQ(Reserve(319999), arena);
  EXPECT_EQ(memory_.arena_bytes(), 319999);
  EXPECT_EQ(memory_.held_bytes(), 320000);
}

TEST_F(WorkMemoryTest, HasWhatItsFirstPlanNeeds) {
  Reserve(80000);
  EXPECT_EQ(memory_.arena_bytes(), 80000);
  Reserve(200000);
  EXPECT_EQ(memory_.arena_bytes(), 200000);
  Reserve(10);
  EXPECT_EQ(memory_.arena_bytes(), 200000);
}

TEST_F(WorkMemoryTest, HasNoRoomWhereALimitIsNear) {
  const auto budget = std::make_shared<MemoryBudget>(100000);
  const MemoryScope scope(budget);
  Reserve(80000);
  Reserve(80100);
  EXPECT_EQ(memory_.held_bytes(), 80100);
  EXPECT_EQ(budget->used(), 80100);
}

}  // namespace
}  // namespace fettle::exec
