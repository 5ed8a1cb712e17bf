// Plans whose weights lie in images compute what the oracle computes.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/planner.h"
#include "tests/opencl_device.h"
#include "tests/planner/run_plan.h"

namespace fettle::planner {
namespace {

constexpr std::string_view kTwoWindows = R"(input %x: f32[1x6x9x7]
const %v: f32[20x6x1x1] = noise(-1, 1)
const %w: f32[8x20x3x3] = noise(-1, 1)
const %b: f32[8] = noise(-1, 1)
%a = Conv(%x, %v)
%c = Relu(%a)
%d = Conv(%c, %w, %b) {pads=[1,1,1,1]}
%y = Relu(%d)
output %y
)";
constexpr std::string_view kOfGroups = R"(input %x: f32[1x8x9x7]
const %w: f32[8x4x3x3] = noise(-1, 1)
%y = Conv(%x, %w) {group=2}
output %y
)";

class OpenClWeights : public testing::Test {
 protected:
  void SetUp() override {
    const auto& device = TestOpenClDevice();
    if (!device.ok() || !(*device)->facts().images) GTEST_SKIP() << "no OpenCL device with images";
    device_ = device->get();
  }
  DeviceSet devices() const { return {cpu_, device_}; }

  static ir::Graph GraphOf(std::string_view text) {
    ir::Graph graph = ops::Parse(text).value();
    EXPECT_TRUE(ops::InferGraph(graph).ok());
    return graph;
  }

  /// The default plan with the weights of `moved` convolutions in images.
  Decision InImages(const ir::Graph& graph, Precision precision, int moved) const {
    const Limits limits{.threads = 2, .preferred = DeviceKind::kOpenCl, .precision = precision};
    Decision decision = PreferredDecision(graph, devices(), limits).value();
    for (GroupDecision& group : decision.groups) {
      if (group.kernel != "opencl.conv.pointwise" && group.kernel != "opencl.conv.direct") continue;
      group.params["columns"] = 2;
      group.params["group_x"] = group.params["group_y"] = group.params["quads"] = 1;
      group.params["weights_image"] = 1;
      --moved;
    }
    EXPECT_EQ(moved, 0) << PrintDecision(graph, decision);
    return decision;
  }

  CpuDevice cpu_{std::make_shared<ThreadPool>(2)};
  const Device* device_ = nullptr;
};

TEST_F(OpenClWeights, InImagesGiveTheOraclesOutputs) {
  const ir::Graph graph = GraphOf(kTwoWindows);
  const std::vector<Tensor> inputs = ir::NoiseInputs(graph, 1).value();
  const auto want = ops::EvaluateGraph(graph, inputs).value();
  const Decision decision = InImages(graph, Precision::kHigh, 2);
  Result<exec::Plan> plan = Apply(graph, decision, devices(), 2);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto got = RunPlan(graph, std::move(*plan), devices(), inputs);
  ASSERT_TRUE(got.ok()) << got.status().message();
  ExpectClose(graph, *got, want, 1);
}

TEST_F(OpenClWeights, ProgramsShareAnImage) {
  const ir::Graph graph = GraphOf(kTwoWindows);
  const Decision decision = InImages(graph, Precision::kHigh, 2);
  exec::PackedStore packed;
  const auto program =
      exec::Program::Build(Apply(graph, decision, devices(), 2).value(), devices(), packed).value();
  const std::vector<exec::PackedStore::Entry> living = packed.Living();
  ASSERT_EQ(living.size(), 4u);  // a bias and weights of each convolution
  const auto rows = std::ranges::find_if(living, [](const exec::PackedStore::Entry& entry) {
    return entry.key.recipe.starts_with("opencl.conv.rows") && entry.blob->bytes == 8 * 5 * 16;
  });
  ASSERT_NE(rows, living.end());
  const MemoryRequest image{.kind = MemoryKind::kImage2d,
                            .bytes = rows->blob->bytes,
                            .width = 8,  // of 6 input channels
                            .height = 5};
  const auto first = packed.GetOn(*device_, rows->blob, &image).value();
  EXPECT_EQ(first->request(), image);
  EXPECT_GT(first.use_count(), 1);  // the program has it
  EXPECT_EQ(packed.GetOn(*device_, rows->blob, &image).value(), first);
  EXPECT_NE(packed.GetOn(*device_, rows->blob).value(), first);
}

/// Packages and databases may say anything.
TEST_F(OpenClWeights, OfSeveralGroupsInAnImageAreRefused) {
  const ir::Graph graph = GraphOf(kOfGroups);
  const Result<exec::Plan> plan = Apply(graph, InImages(graph, Precision::kHigh, 1), devices(), 2);
  EXPECT_EQ(plan.status().code(), StatusCode::kVersionMismatch);
}

}  // namespace
}  // namespace fettle::planner
