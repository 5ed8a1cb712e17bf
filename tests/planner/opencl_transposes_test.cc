// Transposes between channels first and last are the change of layouts that those around them want.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "device/opencl/opencl_device.h"
#include "ops/op.h"
#include "planner/planner.h"

namespace fettle::planner {
namespace {

/// Pixels, rows, and pixels again.
constexpr std::string_view kBlock = R"(input %x: f32[1x16x9x11]
const %w: f32[16x1x3x3]
const %s: f32[16]
const %b: f32[16]
const %v: f32[16x16]
%c = Conv(%x, %w) {pads=[1,1,1,1], group=16}
%t = Transpose(%c) {perm=[0,2,3,1]}
%n = LayerNormalization(%t, %s, %b) {axis=-1}
%m = MatMul(%n, %v)
%u = Transpose(%m) {perm=[0,3,1,2]}
%d = Conv(%u, %w) {pads=[1,1,1,1], group=16}
%y = Transpose(%d) {perm=[0,2,3,1]}
output %y
)";

TEST(OpenClTransposes, AreTheChangeOfLayouts) {
  auto opened = OpenClDevice::Open();
  if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
  ir::Graph graph = ops::Parse(kBlock).value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const Decision decision =
      PreferredDecision(
          graph, DeviceSet(cpu, opened->get()),
          {.threads = 1, .preferred = DeviceKind::kOpenCl, .memory = MemoryKind::kBuffer})
          .value();
  std::vector<std::string> changes;
  for (const GroupDecision& group : decision.groups) {
    // The first one together with the normalisation.
    const std::string_view change = changes.empty() ? "opencl.norm.channels" : "opencl.move.copy";
    if (group.kernel != change) continue;
    changes.push_back(LayoutName(group.states.inputs[0].layout, 4) + " to " +
                      LayoutName(group.states.outputs[0].layout, 4));
  }
  EXPECT_THAT(changes, testing::ElementsAre("NCHW4c to row", "row to NCHW4c", "NCHW4c to row"))
      << PrintDecision(graph, decision);
}

}  // namespace
}  // namespace fettle::planner
