// Whether networks find their constants in caches.
#include "tuner/cost/residency.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "device/cpu/cache.h"
#include "device/cpu/cpu_device.h"
#include "kernels/kernel.h"
#include "ops/op.h"
#include "planner/planner.h"
#include "tests/tuner/known_machine.h"
#include "tuner/cost/step_costs.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

ir::Graph WithShapes(std::string_view text) {
  ir::Graph graph = ops::Parse(text).value();
  FETTLE_CHECK(ops::InferGraph(graph).ok(), "shapes are given");
  return graph;
}

ir::Graph TwoLayers(std::string_view first, std::string_view second) {
  return WithShapes(
      fmt::format("input %x: f32[1x64]\nconst %a: f32[64x64] = {}\n"
                  "const %b: f32[64x64] = {}\n%y = MatMul(%x, %a)\n"
                  "%z = MatMul(%y, %b)\noutput %z\n",
                  first, second));
}

/// Whether the packed weights of both layers are cold where the last cache has so many bytes, and
/// the one before as many, so that nothing is read to find out.
bool AreCold(const ir::Graph& graph, int64_t bytes) {
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const exec::Plan plan = planner::MakePlan(graph, cpu, {.threads = 1}).value();
  return ConstantsAreCold(plan, {.l2_bytes = bytes, .l3_bytes = bytes});
}

TEST(ResidencyTest, ConstantsAreColdWhereTheyExceedTheLastCache) {
  const ir::Graph graph = TwoLayers("noise(-1, 1)", "noise(-1, 1)");  // 32 KiB
  EXPECT_TRUE(AreCold(graph, 30 << 10));
  EXPECT_FALSE(AreCold(graph, 36 << 10));
  EXPECT_FALSE(AreCold(graph, 0)) << "nothing is known of it";
}

TEST(ResidencyTest, EqualConstantsLieInMemoryOnce) {
  EXPECT_FALSE(AreCold(TwoLayers("splat 2.0", "splat 2.0"), 18 << 10));
  EXPECT_TRUE(AreCold(TwoLayers("splat 2.0", "splat 3.0"), 18 << 10));
}

TEST(ResidencyTest, PackedWeightsCountNotThoseOfTheFile) {
  // Winograd's are larger than what they are made of.
  const ir::Graph graph = WithShapes(
      "input %x: f32[1x32x28x28]\nconst %w: f32[32x32x3x3] = noise(-1, 1)\n"
      "%y = Conv(%x, %w) {pads=[1,1,1,1]}\noutput %y\n");
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const exec::Plan plan = planner::MakePlan(graph, cpu, {.threads = 1}).value();
  int64_t packed = 0;
  for (const exec::PlannedStep& step : plan.steps) {
    if (step.match == nullptr) continue;
    const auto kernel = step.match->Prepare({step.states_index, 1, step.params}).value();
    for (const kernels::PackRequest& request : kernel->packs()) packed += request.bytes;
  }
  ASSERT_GT(packed, 32 * 32 * 9 * 4) << "the plan has no such convolution";
  EXPECT_TRUE(AreCold(graph, packed - 1));
  EXPECT_FALSE(AreCold(graph, packed));
}

TEST(ResidencyTest, ColdRowsHaveAProtocolOfTheirOwn) {
  const ir::Graph with = TwoLayers("splat 2.0", "splat 3.0");
  const ir::Graph without = WithShapes("input %x: f32[4]\n%y = Neg(%x)\noutput %y\n");
  kernels::KernelDesc kernel{.name = "cpu.test"};
  EXPECT_EQ(ProtocolOf(kernel, with, TestDevice(), true), kColdProtocol);
  EXPECT_EQ(ProtocolOf(kernel, with, TestDevice(), false), kProtocol);
  EXPECT_EQ(ProtocolOf(kernel, without, TestDevice(), true), kProtocol);
  kernel.name = "opencl.test";
  EXPECT_EQ(ProtocolOf(kernel, with, TestDevice(), true), kProtocol);
}

TEST(ResidencyTest, DroppingFromCachesChangesNothing) {
  std::vector<std::byte> bytes(100'003);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const std::vector<std::byte> before = bytes;
  DropFromCaches(bytes.data() + 1, std::ssize(bytes) - 2);
  DropFromCaches(bytes.data(), 0);
  EXPECT_EQ(bytes, before);
}

}  // namespace
}  // namespace fettle::tuner
