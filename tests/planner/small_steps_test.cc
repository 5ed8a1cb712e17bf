// Which steps the plan of before any measuring shares among threads.
#include "planner/small_steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "ops/op.h"

namespace fettle::planner {
namespace {

/// Whether all kernels of the CPU for a product of these sides are too small to share.
bool AllTooSmall(const std::string& rows, const std::string& depth, const std::string& columns) {
  ir::Graph graph = ops::Parse("input %x: f32[" + rows + "x" + depth + "]\nconst %w: f32[" + depth +
                               "x" + columns + "]\n%y = MatMul(%x, %w)\noutput %y\n")
                        .value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(2));
  const GroupChoices group =
      ListChoices(graph, {.nodes = {ir::NodeId{0}}}, DeviceSet(cpu), {.threads = 2});
  EXPECT_FALSE(group.choices.empty());
  const auto small = [&](const Choice& choice) {
    return IsTooSmallToShare(choice, group.fragment.graph);
  };
  const bool all = std::ranges::all_of(group.choices, small);
  EXPECT_EQ(all, std::ranges::any_of(group.choices, small)) << rows << depth << columns;
  return all;
}

TEST(SmallSteps, StayOnOneThreadByTheirArithmeticOrTheirBytes) {
  EXPECT_TRUE(AllTooSmall("1", "8", "8"));
  EXPECT_FALSE(AllTooSmall("64", "256", "256"));  // 8.4 M operations, 170 us of a core
  EXPECT_FALSE(AllTooSmall("1", "64", "4096"));   // 0.5 M operations, but 1 MB of weights
}

}  // namespace
}  // namespace fettle::planner
