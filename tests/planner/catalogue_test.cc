// What a catalogue says of outputs that need no bytes of their own.
#include "planner/catalogue.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "ir/text.h"
#include "ops/op.h"

namespace fettle::planner {
namespace {

/// How many of the entries in all-row-major states are views, of how many.
std::pair<int, int> RowMajorViews(std::string_view text) {
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const Catalogue catalogue =
      ListCatalogue(graph, device, {.threads = 2}, Breadth::kDefaults).value();
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

}  // namespace
}  // namespace fettle::planner
