#include "exec/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tensor/tensor.h"

namespace fettle::exec {
namespace {

constexpr DeviceKind kDevices[] = {DeviceKind::kCpu, DeviceKind::kOpenCl};

PlannedTensor TensorOf(int64_t elements, bool external = false) {
  return {"t", Shape{elements}, {.storage = DType::kF32, .external = external}};
}

/// A chain input -> convert -> t1 -> t2 -> ... with one step per link.
Plan Chain(int length, int64_t elements) {
  Plan plan;
  plan.tensors.push_back(TensorOf(elements, true));
  plan.inputs = {0};
  for (int i = 0; i < length; ++i) {
    plan.tensors.push_back(TensorOf(elements));
    PlannedStep step;
    step.inputs = {i};
    step.outputs = {i + 1};
    plan.steps.push_back(std::move(step));
  }
  plan.outputs = {length};
  return plan;
}

TEST(PlanArenaTest, RandomIntervalsNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> intervals(1 + random() % 60);
    for (Interval& interval : intervals) {
      interval.bytes = static_cast<int64_t>(random() % 5000);
      interval.first = static_cast<int>(random() % 30);
      interval.last = interval.first + static_cast<int>(random() % 10);
    }
    const ArenaPlan plan = PlanArena(intervals);
    for (size_t a = 0; a < intervals.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % static_cast<int64_t>(kTensorAlignment), 0);
      if (intervals[a].bytes > 0) {
        EXPECT_LE(plan.offsets[a] + intervals[a].bytes + static_cast<int64_t>(kTensorSlack),
                  plan.bytes);
      }
      for (size_t b = 0; b < a; ++b) {
        const bool together =
            intervals[a].first <= intervals[b].last && intervals[b].first <= intervals[a].last;
        if (!together || intervals[a].bytes == 0 || intervals[b].bytes == 0) continue;
        EXPECT_TRUE(plan.offsets[a] + intervals[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + intervals[b].bytes <= plan.offsets[a]);
      }
    }
  }
}

TEST(PlanArenaTest, ManyIntervalsAreLaidOutAsFewAre) {
  std::mt19937 random(8);
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> intervals(1 + random() % 200);
    for (Interval& interval : intervals) {
      interval.bytes = static_cast<int64_t>(random() % 5000);
      interval.first = static_cast<int>(random() % 60);
      interval.last = interval.first + static_cast<int>(random() % 20);
    }
    const ArenaPlan few = PlanArena(intervals);
    intervals.resize(intervals.size() + 1000);  // without bytes
    const ArenaPlan many = PlanArena(intervals);
    EXPECT_EQ(many.bytes, few.bytes);
    EXPECT_TRUE(std::equal(few.offsets.begin(), few.offsets.end(), many.offsets.begin()));
  }
}

/// The same chain on an accelerator, in images of growing width.
Plan ImageChain(int length) {
  Plan plan = Chain(length, 64);
  const Layout pixels = *LayoutFromName("NC4HW4", 4);
  for (int i = 1; i <= length; ++i) {
    PlannedTensor& tensor = plan.tensors[static_cast<size_t>(i)];
    tensor.shape = Shape{1, 8, 4, 4 + i};
    if (i < length) tensor.state = {DeviceKind::kOpenCl, MemoryKind::kImage2d, pixels, DType::kF32};
  }
  return plan;
}

TEST(PlanMemoryTest, ImagesAreHandedOnAndGrow) {
  const Plan plan = ImageChain(6);
  const std::vector<std::vector<kernels::Alias>> aliases(6);
  const std::vector<int64_t> workspaces = {100, 0, 0, 0, 0, 300};
  const MemoryPlan memory = PlanMemory(plan, kDevices, aliases, workspaces);
  ASSERT_EQ(memory.devices[1].images.size(), 2U);
  // Two blocks of channels side by side, five images in turn: the widest are 4 + 5 and 4 + 4.
  EXPECT_EQ(std::max(memory.devices[1].images[0].width, memory.devices[1].images[1].width), 2 * 9);
  EXPECT_EQ(std::min(memory.devices[1].images[0].width, memory.devices[1].images[1].width), 2 * 8);
  EXPECT_EQ(memory.devices[1].images[0].height, 4);
  for (int i = 1; i < 6; ++i) {
    EXPECT_EQ(memory.tensors[static_cast<size_t>(i)].kind, Placement::Kind::kImage);
    EXPECT_NE(memory.tensors[static_cast<size_t>(i)].index,
              i == 1 ? -1 : memory.tensors[static_cast<size_t>(i - 1)].index);
  }
  // Workspaces of conversions that touch the accelerator lie in its buffer.
  EXPECT_GE(memory.devices[1].bytes, 300);
  EXPECT_EQ(memory.devices[0].bytes, 0);
  // Of four rows: those of 4 + 4 and 4 + 5 pixels, between which a step converts.
  EXPECT_EQ(memory.devices[1].live_bytes, 2 * 4 * (8 + 9) * 16);
  EXPECT_EQ(memory.devices[0].live_bytes, 0);
}

TEST(PlanMemoryTest, AnImageIsNotOverwrittenInPlace) {
  Plan plan = ImageChain(3);
  for (PlannedTensor& tensor : plan.tensors)
    if (tensor.state.memory == MemoryKind::kImage2d) tensor.shape = Shape{1, 8, 4, 4};
  std::vector<std::vector<kernels::Alias>> aliases(3);
  aliases[1] = {{.output = 0, .input = 0}};
  const std::vector<int64_t> workspaces(3);
  EXPECT_EQ(PlanMemory(plan, kDevices, aliases, workspaces).devices[1].images.size(), 2U);
}

TEST(PlanMemoryTest, ChainNeedsTwoTensorsAndWritesItsOutputDirectly) {
  const Plan plan = Chain(6, 1024);
  const std::vector<std::vector<kernels::Alias>> aliases(6);
  const std::vector<int64_t> workspaces(6, 0);
  const MemoryPlan memory = PlanMemory(plan, kDevices, aliases, workspaces);
  EXPECT_EQ(memory.devices[0].bytes, 2 * (4096 + BlockGap()));
  EXPECT_EQ(memory.tensors.front().kind, Placement::Kind::kInput);
  EXPECT_EQ(memory.tensors.back().kind, Placement::Kind::kOutput);
  EXPECT_TRUE(memory.copied_outputs.empty());
}

TEST(PlanMemoryTest, RunsInPlaceWhereTheInputDies) {
  const Plan plan = Chain(6, 1024);
  std::vector<std::vector<kernels::Alias>> aliases(6, {{.output = 0, .input = 0}});
  aliases[0].clear();  // the conversion of the caller's tensor
  const std::vector<int64_t> workspaces(6, 0);
  const MemoryPlan memory = PlanMemory(plan, kDevices, aliases, workspaces);
  EXPECT_EQ(memory.devices[0].bytes, 4096 + BlockGap());
  for (size_t t = 1; t + 1 < memory.tensors.size(); ++t) EXPECT_EQ(memory.tensors[t].offset, 0);
}

TEST(PlanMemoryTest, ReadTwiceIsNotOverwritten) {
  Plan plan = Chain(3, 16);
  plan.steps[2].inputs = {1, 2};  // tensor 1 lives on past step 1
  const std::vector<std::vector<kernels::Alias>> aliases(3, {{.output = 0, .input = 0}});
  const std::vector<int64_t> workspaces(3, 0);
  const MemoryPlan memory = PlanMemory(plan, kDevices, aliases, workspaces);
  EXPECT_NE(memory.tensors[1].offset, memory.tensors[2].offset);
}

TEST(PlanMemoryTest, ViewOfAnInputWindowThatIsAnOutputIsCopied) {
  Plan plan = Chain(2, 64);
  plan.tensors[2] = TensorOf(16);
  std::vector<std::vector<kernels::Alias>> aliases(2);
  aliases[1] = {{.output = 0, .input = 0, .byte_offset = 64, .is_view = true}};
  const std::vector<int64_t> workspaces(2, 0);
  const MemoryPlan memory = PlanMemory(plan, kDevices, aliases, workspaces);
  EXPECT_EQ(memory.copied_outputs, std::vector<int>{0});
  EXPECT_EQ(memory.tensors[2].offset, memory.tensors[1].offset + 64);
}

TEST(PlanMemoryTest, WorkspaceDoesNotOverlapOperands) {
  const Plan plan = Chain(3, 64);
  const std::vector<std::vector<kernels::Alias>> aliases(3);
  const std::vector<int64_t> workspaces = {0, 512, 0};
  const MemoryPlan memory = PlanMemory(plan, kDevices, aliases, workspaces);
  const auto disjoint = [](int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
    return a + a_bytes <= b || b + b_bytes <= a;
  };
  EXPECT_TRUE(disjoint(memory.workspaces[1], 512, memory.tensors[1].offset, 256));
  EXPECT_TRUE(disjoint(memory.workspaces[1], 512, memory.tensors[2].offset, 256));
}

}  // namespace
}  // namespace fettle::exec
