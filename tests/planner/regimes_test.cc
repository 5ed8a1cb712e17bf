// Which plan of a tuned range a shape takes, and what becomes of shapes outside of it.
#include "planner/regimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "device/cpu/cpu_device.h"
#include "ops/op.h"
#include "passes/specialise.h"
#include "planner/plan_source.h"
#include "planner/planner.h"

namespace fettle::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kOneProduct =
    "input %x: f32[?x?x16]\n"
    "const %w: f32[16x32] = noise(-1, 1)\n"
    "%a = MatMul(%x, %w)\n"
    "%y = Relu(%a)\n"
    "output %y\n";

std::string& Logged() {
  static std::string text;
  return text;
}

class RegimesTest : public testing::Test {
 protected:
  void SetUp() override {
    Logged().clear();
    SetLogSink([](LogLevel, std::string_view line) { Logged() += std::string(line) + "\n"; },
               LogLevel::kWarn);
  }
  void TearDown() override { SetLogSink(nullptr, LogLevel::kWarn); }

  static ir::Graph GraphFor(const Shape& shape) {
    static const ir::Graph kParsed = ops::Parse(kOneProduct).value();
    ir::Graph graph = kParsed;
    graph.value(graph.inputs[0]).shape = shape;
    EXPECT_TRUE(passes::Specialise(graph).ok());
    return graph;
  }

  /// A book with the plan of each shape; that of `shapes[0]` on one thread is told by its seed.
  std::shared_ptr<PlanBook> BookOf(const std::vector<Shape>& shapes) {
    auto book = std::make_shared<PlanBook>();
    for (const Shape& shape : shapes) {
      const ir::Graph graph = GraphFor(shape);
      Decision decision = PreferredDecision(graph, device_, kLimits).value();
      decision.made_for = InputShapesOf(graph);
      book->Put({KeyOf(graph, device_, kLimits), PrintDecision(graph, decision)});
    }
    return book;
  }

  TunedRange RangeOf(const std::vector<Shape>& shapes) {
    return TunedRange::Of(*BookOf(shapes), KeyOf(GraphFor({9, 9, 16}), device_, kLimits));
  }

  const Limits kLimits{.threads = 1};
  CpuDevice device_{std::make_shared<ThreadPool>(1)};
};

TEST_F(RegimesTest, TheNearestIsByRatio) {
  const TunedRange range = RangeOf({{1, 64, 16}, {1, 4, 16}, {1, 16, 16}});
  ASSERT_EQ(range.plans().size(), 3U);
  EXPECT_EQ(range.plans()[0].made_for[0], (Shape{1, 4, 16}));
  EXPECT_THAT(range.Nearest({Shape{1, 7, 16}}), ElementsAre(0, 1, 2));
  EXPECT_THAT(range.Nearest({Shape{1, 9, 16}}), ElementsAre(1, 0, 2));
  EXPECT_THAT(range.Nearest({Shape{1, 1000, 16}}), ElementsAre(2, 1, 0));
  EXPECT_THAT(range.Nearest({Shape{1, 16}}), IsEmpty());
  EXPECT_THAT(range.Nearest({Shape{1, 0, 16}}), ElementsAre(0, 1, 2));
}

TEST_F(RegimesTest, ARangeHoldsWhatLiesBetweenItsEnds) {
  const TunedRange range = RangeOf({{1, 4, 16}, {8, 64, 16}});
  EXPECT_TRUE(range.Holds({Shape{3, 5, 16}}));
  EXPECT_TRUE(range.Holds({Shape{8, 4, 16}}));
  EXPECT_FALSE(range.Holds({Shape{9, 5, 16}}));
  EXPECT_FALSE(range.Holds({Shape{1, 3, 16}}));
  EXPECT_FALSE(range.Holds({Shape{1, 16}}));
  EXPECT_FALSE(TunedRange().Holds({Shape{1, 16}}));
}

TEST_F(RegimesTest, SizesOfEqualKernelsAreOneRegime) {
  const auto plan = [](int64_t size, std::string_view kernel, int rows) {
    return RangePlan{{Shape{size}},
                     fmt::format("decision 1\npredicted 1 measured 1 gap 0 seed 1\nfor {}\n"
                                 "group 0 kernel {} version 1 threads {} us {}\nparams rows={}\n"
                                 "inputs a\noutputs b\n",
                                 size, kernel, rows, rows, rows)};
  };
  const TunedRange range({plan(1, "cpu.a", 1), plan(9, "cpu.b", 3), plan(2, "cpu.a", 2),
                          plan(20, "cpu.a", 4), plan(30, "cpu.a", 4)});
  EXPECT_THAT(range.regimes(), ElementsAre(0, 0, 1, 2, 2));
  EXPECT_EQ(MadeFor(range.plans()[1].text), std::vector<Shape>{Shape{2}});
}

TEST_F(RegimesTest, ABookOfSinglePlansIsNoRange) {
  const ir::Graph graph = GraphFor({1, 4, 16});
  PlanBook book;
  const Decision decision = PreferredDecision(graph, device_, kLimits).value();
  book.Put({KeyOf(graph, device_, kLimits), PrintDecision(graph, decision)});
  EXPECT_TRUE(TunedRange::Of(book, KeyOf(GraphFor({1, 5, 16}), device_, kLimits)).empty());
}

TEST_F(RegimesTest, ShapesBetweenArePlannedInSilenceAndOthersWithOneLine) {
  const auto plans = PlansOf(BookOf({{1, 4, 16}, {1, 64, 16}}));
  ASSERT_TRUE(plans->PlanFor(GraphFor({1, 21, 16}), device_, kLimits).ok());
  EXPECT_EQ(Logged(), "");
  ASSERT_TRUE(plans->PlanFor(GraphFor({1, 65, 16}), device_, kLimits).ok());
  EXPECT_EQ(Logged(),
            "x 1x65x16: outside of the tuned range (x 1x4x16 to 1x64x16); starts on the plan of "
            "its nearest size\n");
}

TEST_F(RegimesTest, ThePlanIsThatOfTheNearestSize) {
  const auto book = BookOf({{1, 4, 16}, {1, 64, 16}});
  PlanBook changed;
  for (BookEntry entry : book->entries()) {  // told apart by a kernel that is not there
    const bool large = entry.text.find("for 1x64x16") != std::string::npos;
    if (large) entry.text.replace(entry.text.find("kernel cpu."), 11, "kernel gone.");
    changed.Put(entry);
  }
  const TunedRange range = TunedRange::Of(changed, KeyOf(GraphFor({1, 5, 16}), device_, kLimits));
  // Where the nearest does not fit, the next one is taken.
  EXPECT_TRUE(PlanFromRange(range, GraphFor({1, 60, 16}), device_, 1).ok());
  const TunedRange broken({range.plans()[1]});
  const auto failed = PlanFromRange(broken, GraphFor({1, 60, 16}), device_, 1);
  EXPECT_THAT(failed.status().message(), HasSubstr("gone."));
}

std::vector<std::string> KernelsIn(const exec::Plan& plan) {
  std::vector<std::string> kernels;
  for (const exec::PlannedStep& step : plan.steps)
    kernels.push_back(step.kernel == nullptr ? "" : std::string(step.kernel->name));
  return kernels;
}

TEST_F(RegimesTest, WhatIsKeptFromShapeToShapeIsWhatPlanningAnewMakes) {
  const auto book = BookOf({{1, 4, 16}, {1, 64, 16}});
  const auto kept = PlansOf(book);
  for (const int64_t size : {5, 6, 7, 60, 64, 61, 4, 8, 62}) {
    const ir::Graph graph = GraphFor({1, size, 16});
    const Result<exec::Plan> plan = kept->PlanFor(graph, device_, kLimits);
    const Result<exec::Plan> anew = PlansOf(book)->PlanFor(graph, device_, kLimits);
    ASSERT_TRUE(plan.ok() && anew.ok()) << size;
    EXPECT_EQ(KernelsIn(*plan), KernelsIn(*anew));
    ASSERT_EQ(plan->tensors.size(), anew->tensors.size());
    for (size_t i = 0; i < plan->tensors.size(); ++i) {
      EXPECT_EQ(plan->tensors[i].shape, anew->tensors[i].shape);
      EXPECT_EQ(plan->tensors[i].state, anew->tensors[i].state);
    }
  }
  // Another structure is not taken for this one.
  ir::Graph other = ops::Parse("input %x: f32[1x9x16]\n%y = Relu(%x)\noutput %y\n").value();
  ASSERT_TRUE(passes::Specialise(other).ok());
  EXPECT_TRUE(kept->PlanFor(other, device_, kLimits).ok());
}

TEST_F(RegimesTest, ADamagedPlanIsOfNoRange) {
  EXPECT_THAT(MadeFor(""), IsEmpty());
  EXPECT_THAT(MadeFor("decision 1\npredicted 1\n"), IsEmpty());
  EXPECT_THAT(MadeFor("decision 1\npredicted 1\nfor 1xx2\n"), IsEmpty());
  EXPECT_THAT(MadeFor("decision 1\npredicted 1\nfor 9999999999x9999999999\n"), IsEmpty());
  EXPECT_THAT(MadeFor("decision 1\npredicted 1\nfor 1x2 scalar 3\n"),
              ElementsAre(Shape{1, 2}, Shape{}, Shape{3}));
}

}  // namespace
}  // namespace fettle::planner
