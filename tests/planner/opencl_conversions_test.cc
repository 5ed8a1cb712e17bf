// Default plans beside the CPU convert rarely: each conversion is a launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "device/opencl/opencl_device.h"
#include "ops/op.h"
#include "planner/planner.h"

namespace fettle::planner {
namespace {

/// Light attention: what follows the Split is row-major but for a Mul, which may be.
constexpr std::string_view kAttention = R"(input %x: f32[1x8x4x256]
const %w: f32[24x8x1x1]
const %v: f32[8x8x1x1]
const %axis: i64[1] = -1
%a = Relu(%x)
%c = Conv(%a, %w)
%q, %k, %r = Split(%c) {axis=1, num_outputs=3}
%s = Softmax(%q) {axis=-1}
%m = Mul(%k, %s)
%t = ReduceSum(%m, %axis) {keepdims=1}
%u = Softmax(%r) {axis=-1}
%p = Mul(%u, %t)
%y = Conv(%p, %v)
output %y
)";

TEST(OpenClConversions, AreFewAroundASplit) {
  auto opened = OpenClDevice::Open();
  if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
  ir::Graph graph = ops::Parse(kAttention).value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const Decision decision =
      PreferredDecision(
          graph, DeviceSet(cpu, opened->get()),
          {.threads = 1, .preferred = DeviceKind::kOpenCl, .memory = MemoryKind::kBuffer})
          .value();
  for (const GroupDecision& group : decision.groups) {
    const std::string_view op = graph.node(group.nodes[0]).op.name();
    if (op != "Split" && op != "Mul" && op != "ReduceSum") continue;
    for (const State& state : group.states.inputs)
      EXPECT_TRUE(state.layout.IsRowMajor()) << PrintDecision(graph, decision);
    for (const State& state : group.states.outputs)
      EXPECT_TRUE(state.layout.IsRowMajor()) << PrintDecision(graph, decision);
  }
}

}  // namespace
}  // namespace fettle::planner
