#include "exec/memory_outline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/memory_marks.h"
#include "exec/choose_windows.h"

namespace fettle::exec {
namespace {

constexpr DeviceKind kCpuAlone[] = {DeviceKind::kCpu};

/// Steps that read earlier tensors, some of which may be written over, or are views.
struct Network {
  Plan plan;
  std::vector<std::vector<kernels::Alias>> aliases;
  std::vector<int64_t> workspaces, bytes;

  MemoryNeeds needs() const { return {aliases, workspaces, {}, bytes}; }
};

Network RandomNetwork(std::mt19937& random) {
  Network network;
  Plan& plan = network.plan;
  const int steps = 2 + static_cast<int>(random() % 30);
  for (int t = 0; t <= steps; ++t)
    plan.tensors.push_back({"t", Shape{1}, {.storage = DType::kF32}});
  plan.inputs = {0};
  for (int i = 0; i < steps; ++i) {
    PlannedStep step;
    for (size_t k = 0; k < 1 + random() % 2; ++k)
      step.inputs.push_back(std::max(0, i - static_cast<int>(random() % 6)));
    step.outputs = {i + 1};
    plan.steps.push_back(std::move(step));
    network.aliases.emplace_back();
    if (random() % 2 == 0)
      network.aliases.back().push_back({.output = 0, .input = 0, .is_view = random() % 4 == 0});
  }
  plan.outputs = {steps};
  return network;
}

/// A view is as large as what it is of; `scale`: of all.
void SetBytes(Network& network, int scale, std::mt19937& random) {
  network.workspaces.assign(network.plan.steps.size(), 0);
  network.bytes.assign(network.plan.tensors.size(), 0);
  network.bytes[0] = 4 * scale;
  for (size_t i = 0; i < network.plan.steps.size(); ++i) {
    const bool is_view = !network.aliases[i].empty() && network.aliases[i][0].is_view;
    network.bytes[i + 1] = is_view ? network.bytes[network.plan.steps[i].inputs[0]]
                                   : 4 * scale * static_cast<int64_t>(1 + random() % 3);
    network.workspaces[i] = i % 3 == 0 ? 100 * scale : 0;
  }
}

struct Stretch {
  Placement::Kind kind = Placement::Kind::kBytes;
  int64_t begin = 0, end = 0;
  bool meets(const Stretch& other) const {
    return kind == other.kind && begin < other.end && other.begin < end;
  }
};

/// The value that each tensor of the arena holds is one that nobody has written over.
void CheckThatNothingIsLost(const Network& network, const MemoryPlan& memory) {
  const Plan& plan = network.plan;
  const auto range = [&](int t) {
    const Placement& place = memory.tensors[t];
    return Stretch{place.kind, place.offset, place.offset + network.bytes[t]};
  };
  std::vector<int> holds(plan.tensors.size());  // what was written last to what a tensor reads
  for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i) {
    const PlannedStep& step = plan.steps[i];
    const bool is_view = !network.aliases[i].empty() && network.aliases[i][0].is_view;
    for (int input : step.inputs) EXPECT_EQ(holds[input], input) << "step " << i;
    const Stretch work{Placement::Kind::kBytes, memory.workspaces[i],
                       memory.workspaces[i] + network.workspaces[i]};
    const Stretch written = range(i + 1);
    EXPECT_FALSE(work.meets(written));
    for (int t = 0; t <= i; ++t) {
      if (range(t).meets(work) || (!is_view && range(t).meets(written))) holds[t] = -1;
      if (std::ranges::count(step.inputs, t) > 0) {
        EXPECT_FALSE(range(t).meets(work));
      }
    }
    for (int input : step.inputs) {
      const bool may = !network.aliases[i].empty() && step.inputs[0] == input;
      EXPECT_TRUE(is_view || may || !range(input).meets(written)) << "step " << i;
    }
    holds[i + 1] = i + 1;
    EXPECT_LE(written.end, written.kind == Placement::Kind::kBytes ? memory.devices[0].bytes
                                                                   : network.bytes[i + 1]);
    EXPECT_LE(work.end, memory.devices[0].bytes);
  }
}

TEST(MemoryOutlineTest, LaysOutOtherExtents) {
  if (marks::On()) GTEST_SKIP() << "this build marks memory: no layout is kept";
  std::mt19937 random(11);
  int laid_out = 0;
  for (int round = 0; round < 300; ++round) {
    Network network = RandomNetwork(random);
    SetBytes(network, 40, random);
    MemoryOutline outline;
    MemoryPlan memory;
    EXPECT_FALSE(outline.LayOut(network.plan, network.needs(), memory));
    const MemoryPlan first = PlanMemory(network.plan, kCpuAlone, network.needs(), &outline);
    CheckThatNothingIsLost(network, first);
    ASSERT_TRUE(outline.LayOut(network.plan, network.needs(), memory));
    EXPECT_EQ(memory.devices[0].bytes, first.devices[0].bytes);
    EXPECT_EQ(memory.devices[0].live_bytes, first.devices[0].live_bytes);
    EXPECT_EQ(memory.copied_outputs, first.copied_outputs);
    for (int scale : {1, 30, 50, 1000}) {
      SetBytes(network, scale, random);
      if (!outline.LayOut(network.plan, network.needs(), memory)) continue;
      ++laid_out;
      CheckThatNothingIsLost(network, memory);
      const DeviceNeeds planned = PlanMemory(network.plan, kCpuAlone, network.needs()).devices[0];
      EXPECT_LE(memory.devices[0].live_bytes, memory.devices[0].bytes);
      EXPECT_LE(planned.live_bytes, 4 * memory.devices[0].live_bytes);
    }
  }
  EXPECT_GT(laid_out, 300);
}

TEST(MemoryOutlineTest, RefusesOtherAliases) {
  if (marks::On()) GTEST_SKIP() << "this build marks memory: no layout is kept";
  std::mt19937 random(12);
  Network network = RandomNetwork(random);
  SetBytes(network, 40, random);
  MemoryOutline outline;
  PlanMemory(network.plan, kCpuAlone, network.needs(), &outline);
  MemoryPlan memory;
  EXPECT_TRUE(outline.LayOut(network.plan, network.needs(), memory));
  network.aliases.back() = {{.output = 0, .input = 0}, {.output = 0, .input = 0}};
  EXPECT_FALSE(outline.LayOut(network.plan, network.needs(), memory));
}

}  // namespace
}  // namespace fettle::exec
