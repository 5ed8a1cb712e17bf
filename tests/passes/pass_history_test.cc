// What a history says of passes for shapes near those that all passes saw, and that leaving passes
// out changes no value.
#include "passes/pass_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "equivalence.h"
#include "ops/op.h"
#include "passes/specialise.h"

namespace fettle::passes {
namespace {

/// Reshaped by what a shape says; taps of the convolution are dead where images are small.
constexpr std::string_view kNetwork =
    "input %x: f32[?x2x?x?]\n"
    "const %w: f32[4x2x5x5] = noise(-1, 1)\n"
    "const %v: f32[4x3] = noise(-1, 1)\n"
    "const %zero: i64[1] = 0\n"
    "const %rows: i64[2] = -1 4\n"
    "const %rest: i64[2] = -1 3\n"
    "%a = Conv(%x, %w) {pads=[2,2,2,2]}\n"
    "%b = Transpose(%a) {perm=[0,2,3,1]}\n"
    "%c = Reshape(%b, %rows)\n"
    "%d = MatMul(%c, %v)\n"
    "%s = Shape(%b)\n"
    "%t = Gather(%s, %zero)\n"
    "%u = Abs(%t)\n"
    "%r = Concat(%u, %rest) {axis=0}\n"
    "%e = Reshape(%d, %r)\n"
    "output %e\n";

ir::Graph GraphFor(const Shape& shape) {
  ir::Graph graph = ParseGraph(kNetwork);
  graph.value(graph.inputs[0]).shape = shape;
  return graph;
}

TEST(PassHistoryTest, AllPassesRunForTheFirstShapesOfANeighbourhood) {
  PassHistory history;
  const auto outline_of = [](int64_t height) {
    ir::Graph graph = GraphFor({1, 2, height, 9});
    EXPECT_TRUE(SweepAll(graph, {}).ok());
    return Outline(graph);
  };
  std::vector<int> fired(Passes().size());
  fired[3] = 2;
  EXPECT_TRUE(history.ChosenFor(outline_of(8)).empty());
  history.Keep(outline_of(8), fired);
  EXPECT_TRUE(history.ChosenFor(outline_of(9)).empty());
  history.Keep(outline_of(9), {});
  const std::vector<bool> chosen = history.ChosenFor(outline_of(10));
  EXPECT_EQ(chosen.size(), Passes().size());
  EXPECT_EQ(std::ranges::count(chosen, true), 1);
  EXPECT_TRUE(chosen[3]);
  EXPECT_TRUE(history.ChosenFor(outline_of(9 * kNearRatio + 1)).empty());
}

TEST(PassHistoryTest, RemembersTheLastOutlinesAlone) {
  PassHistory history;
  const auto outline_of = [](int64_t extent) {
    Outline outline;
    outline.structure = {1};
    outline.extents = {extent};
    return outline;
  };
  for (int i = 0; i < 2; ++i) history.Keep(outline_of(2), {});
  EXPECT_FALSE(history.ChosenFor(outline_of(2)).empty());
  for (size_t i = 0; i < PassHistory::kMostKept; ++i) history.Keep(outline_of(1000), {});
  EXPECT_TRUE(history.ChosenFor(outline_of(2)).empty());
}

TEST(PassHistoryTest, RandomShapesComputeTheSameWithAHistory) {
  PassHistory history;
  std::mt19937 random(39);
  int left_out = 0;
  for (int i = 0; i < 60; ++i) {
    const Shape shape{1 + static_cast<int64_t>(random() % 3), 2,
                      1 + static_cast<int64_t>(random() % 12),
                      1 + static_cast<int64_t>(random() % 40)};
    const ir::Graph before = GraphFor(shape);
    ir::Graph all = before, some = before;
    std::vector<int> fired_all, fired_some;
    ASSERT_TRUE(Specialise(all, nullptr, {.verify = true, .fired = &fired_all}).ok());
    ASSERT_TRUE(Specialise(some, nullptr, {.verify = true, .fired = &fired_some}, &history).ok());
    for (size_t p = 0; p < Passes().size(); ++p) EXPECT_LE(fired_some[p], fired_all[p]);
    left_out += fired_some != fired_all ? 1 : 0;
    ExpectSameResults(before, some, 2e-4, {});
  }
  EXPECT_LT(left_out, 20) << "neighbourhoods tell little of what passes do";
}

}  // namespace
}  // namespace fettle::passes
