// What a catalogue says of outputs that need no bytes of their own.
#include "planner/catalogue.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "exec/program.h"
#include "ir/text.h"
#include "ops/op.h"
#include "planner/planner.h"
#include "tests/annex/annex_backend.h"

namespace fettle::planner {
namespace {

/// How many of the entries in all-row-major states are views, of how many.
std::pair<int, int> RowMajorViews(std::string_view text) {
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const Catalogue catalogue = ListCatalogue(graph, device, {.threads = 2}).value();
  std::pair<int, int> views{0, 0};
  for (const Kind& kind : catalogue.kinds) {
    for (const Entry& entry : kind.entries) {
      if (entry.states != kernels::RowMajorStates(*kind.group)) continue;
      views.first += entry.is_view ? 1 : 0;
      ++views.second;
    }
  }
  return views;
}

TEST(Catalogue, AReshapeOfWholeRowsIsAView) {
  EXPECT_EQ(RowMajorViews("input %x: f32[2x3x4x5]\n%y = Flatten(%x)\noutput %y\n"),
            std::pair(1, 1));
}

TEST(Catalogue, AMoveIsNoView) {
  const auto [views, entries] =
      RowMajorViews("input %x: f32[2x3x4x5]\n%y = Transpose(%x) {perm=[0,3,1,2]}\noutput %y\n");
  EXPECT_EQ(views, 0);
  EXPECT_EQ(entries, 2);  // on all threads and on one
}

TEST(Catalogue, AnEmptyPartMakesNoViewOfOthers) {
  constexpr std::string_view kSplit =
      "input %x: f32[1x20]\nconst %s: i64[3] = {}\n%a, %b, %c = Split(%x, %s) {{axis=1}}\n"
      "output %a\noutput %b\noutput %c\n";
  EXPECT_EQ(RowMajorViews(fmt::format(kSplit, "16 4 0")).first, 1);
  EXPECT_EQ(RowMajorViews(fmt::format(kSplit, "10 10 0")).first, 0);  // 40 bytes in: not aligned
}

/// Two kinds of convolutions, of which one is there twice, and what may join them.
ir::Graph Convolutions() {
  ir::Graph graph =
      ops::Parse(
          "input %x: f32[1x8x6x6]\nconst %v: f32[8x8x3x3]\nconst %w: f32[8x8x1x1]\n"
          "%a = Conv(%x, %v) {pads=[1,1,1,1]}\n%b = Relu(%a)\n"
          "%c = Conv(%b, %v) {pads=[1,1,1,1]}\n%d = Relu(%c)\n%y = Conv(%d, %w)\noutput %y\n")
          .value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  return graph;
}

TEST(Catalogue, EachKernelReadsEachKindOfGroupOnce) {
  kernels::AddBackend(kernels::AnnexBackend());
  const CpuDevice cpu(std::make_shared<ThreadPool>(2));
  const AnnexDevice annex;
  const DeviceSet devices(cpu, &annex);
  kernels::AnnexMatches().clear();
  const auto catalogue = ListCatalogue(Convolutions(), devices, {.threads = 2});
  ASSERT_TRUE(catalogue.ok());
  EXPECT_GT(catalogue->instances.size(), catalogue->kinds.size());
  const size_t kernels = kernels::AnnexBackend().kernels().size();
  EXPECT_EQ(kernels::AnnexMatches().size() % kernels, 0U);
  EXPECT_GE(kernels::AnnexMatches().size(), kernels * catalogue->kinds.size());
  for (const auto& [group, count] : kernels::AnnexMatches()) EXPECT_EQ(count, 1) << group;
}

TEST(Catalogue, WeightsOfTwoValuesAreAKindOfTheirOwn) {
  // A kernel of bits takes the first product; the second has the same text but more values.
  ir::Graph graph = ops::Parse(
                        "input %x: f32[4x64]\nconst %v: f32[64x64]\nconst %w: f32[64x64]\n"
                        "%a = MatMul(%x, %v)\n%y = MatMul(%a, %w)\noutput %y\n")
                        .value();
  for (const ir::Node& node : graph.nodes()) {
    const int values = node.inputs[0] == graph.inputs[0] ? 2 : 7;
    std::vector<float> weights(64 * 64);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % values) - 1;
    const Tensor tensor = Tensor::FromVector(Shape{64, 64}, weights).value();
    graph.value(node.inputs[1]).constant = std::make_shared<Constant>(Constant::FromTensor(tensor));
  }
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const Catalogue catalogue = ListCatalogue(graph, cpu, {.threads = 1}).value();
  ASSERT_EQ(catalogue.instances.size(), 2U);
  EXPECT_NE(catalogue.instances[0].kind, catalogue.instances[1].kind);
}

TEST(Catalogue, AProgramIsBuiltOfWhatItsPlanHasRead) {
  kernels::AddBackend(kernels::AnnexBackend());
  const CpuDevice cpu(std::make_shared<ThreadPool>(2));
  const AnnexDevice annex;
  const DeviceSet devices(cpu, &annex);
  auto plan = MakePlan(Convolutions(), devices, {.threads = 2, .preferred = kAnnex});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto on_annex = std::count_if(
      plan->steps.begin(), plan->steps.end(),
      [](const exec::PlannedStep& step) { return step.match && step.kernel->device() == kAnnex; });
  EXPECT_GT(on_annex, 0);
  kernels::AnnexMatches().clear();
  exec::PackedStore packed;
  EXPECT_TRUE(exec::Program::Build(*std::move(plan), devices, packed).ok());
  EXPECT_TRUE(kernels::AnnexMatches().empty());
}

}  // namespace
}  // namespace fettle::planner
