// Decisions as text, applied again, and refused where they do not fit.
#include "planner/decision.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "device/cpu/cpu_device.h"
#include "ir/text.h"
#include "ops/op.h"
#include "planner/plan_book.h"
#include "planner/plan_source.h"
#include "planner/planner.h"
#include "tests/annex/annex_device.h"

namespace fettle::planner {
namespace {

constexpr std::string_view kNet = R"(input %x: f32[1x8x6x6]
const %w: f32[16x8x3x3]
%a = Conv(%x, %w, _) {pads=[1,1,1,1]}
%b = Relu(%a)
%c = MaxPool(%b) {kernel_shape=[2,2], strides=[2,2]}
%d = Sigmoid(%b)
output %c
output %d
)";

ir::Graph MakeGraph(std::string_view text) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  return graph;
}

class DecisionTest : public testing::Test {
 protected:
  CpuDevice device_{std::make_shared<ThreadPool>(2)};
  ir::Graph graph_ = MakeGraph(kNet);
  Decision decision_ = PreferredDecision(graph_, device_, {.threads = 2}).value();
};

TEST_F(DecisionTest, ParsesBackToAnEqualValue) {
  decision_.predicted_us = 812.5;
  decision_.seed = 7;
  decision_.groups[0].params = {{"panels", 2}, {"rows", 24}};
  decision_.groups[0].threads = 1;
  decision_.conversions.push_back(
      {0, {.storage = DType::kF32, .external = true}, {.storage = DType::kF32}, 3.25});
  const Result<Decision> parsed = ParseDecision(graph_, PrintDecision(graph_, decision_));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed, decision_);
}

TEST_F(DecisionTest, ReadsParametersAsEarlierBuildsWroteThem) {
  decision_.groups[0].params = {{"panels", 2}, {"rows", 24}};
  std::string text = PrintDecision(graph_, decision_);
  const size_t comma = text.find("panels=2,rows=24") + 8;
  text[comma] = ' ';
  EXPECT_EQ(ParseDecision(graph_, text).value(), decision_);
  text[comma] = ';';
  EXPECT_FALSE(ParseDecision(graph_, text).ok());
}

TEST_F(DecisionTest, OnlyImagesOfCallersAreReadAsSuchForWhoWantsChannelsLast) {
  constexpr std::string_view kConv =
      "%d = DequantizeLinear(%q, %s, %z)\nconst %w: i8[16x4x3x3]\nconst %v: i8[] = 0\n"
      "%e = DequantizeLinear(%w, %s, %v)\n%c = Conv(%d, %e)\n%y = QuantizeLinear(%c, %s, %z)\n";
  const auto reads_an_image = [&](std::string_view quantised, std::string_view reader,
                                  std::string_view output) {
    const ir::Graph graph =
        MakeGraph(fmt::format("input %x: f32[1x4x16x16]\n%p = Softmax(%x) {{axis=-1}}\n"
                              "const %s: f32[] = 0.01\nconst %z: u8[] = 3\n"
                              "%q = QuantizeLinear({}, %s, %z)\n{}output %p\noutput {}\n",
                              quantised, reader, output));
    const Decision decision = PreferredDecision(graph, device_, {.threads = 2}).value();
    const std::string text = PrintDecision(graph, decision);
    return text.find("cpu.quantised.image") != std::string::npos;
  };
  EXPECT_TRUE(reads_an_image("%x", kConv, "%y"));
  EXPECT_FALSE(reads_an_image("%p", kConv, "%y"));
  EXPECT_FALSE(reads_an_image("%x", "", "%q"));
}

TEST_F(DecisionTest, AnyLineLostOrCutIsAClearFailureOrAnotherDecision) {
  const std::string text = PrintDecision(graph_, decision_);
  for (size_t end = 0; end < text.size(); ++end) {
    const Result<Decision> parsed = ParseDecision(graph_, text.substr(0, end));
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.status().code(), StatusCode::kCorrupt);
      EXPECT_NE(parsed.status().message().find("decision, line"), std::string::npos);
      continue;
    }
    const auto plan = Apply(graph_, *parsed, device_, 2);
    if (parsed->groups.size() < decision_.groups.size()) {
      ASSERT_FALSE(plan.ok());
      EXPECT_EQ(plan.status().code(), StatusCode::kCorrupt);
    }
  }
}

TEST_F(DecisionTest, AppliesWithTheThreadsOfEachGroup) {
  for (GroupDecision& group : decision_.groups) group.threads = 0;
  decision_.groups[0].threads = 1;
  const auto plan = Apply(graph_, decision_, device_, 2);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  int single = 0;
  for (const exec::PlannedStep& step : plan->steps)
    if (step.kernel != nullptr && step.problem.threads == 1) ++single;
  EXPECT_EQ(single, 1);
}

TEST_F(DecisionTest, AnotherVersionOrKernelIsRefused) {
  Decision other = decision_;
  ++other.groups[0].version;
  EXPECT_EQ(Apply(graph_, other, device_, 2).status().code(), StatusCode::kVersionMismatch);
  other = decision_;
  other.groups[0].kernel = "cpu.conv.imagined";
  EXPECT_EQ(Apply(graph_, other, device_, 2).status().code(), StatusCode::kVersionMismatch);
}

TEST_F(DecisionTest, NodesLeftOutOrTwiceAreCorrupt) {
  Decision other = decision_;
  other.groups.pop_back();
  EXPECT_EQ(Apply(graph_, other, device_, 2).status().code(), StatusCode::kCorrupt);
  other = decision_;
  other.groups.push_back(other.groups[0]);
  EXPECT_EQ(Apply(graph_, other, device_, 2).status().code(), StatusCode::kCorrupt);
}

TEST_F(DecisionTest, ReadingBeforeWritingIsCorrupt) {
  Decision other = decision_;
  std::reverse(other.groups.begin(), other.groups.end());
  EXPECT_EQ(Apply(graph_, other, device_, 2).status().code(), StatusCode::kCorrupt);
}

TEST_F(DecisionTest, APlanOfTheAcceleratorAloneServesWhereTheCpuMayHelpAndNotTheReverse) {
  const AnnexDevice other;
  const DeviceSet both(device_, &other);
  const Limits open{.threads = 2};
  Limits alone = open;
  alone.accelerator_only = true;
  PlanBook book;
  book.Put({KeyOf(graph_, both, open), "open"});
  EXPECT_EQ(book.Find(KeyIn(book, graph_, both, alone)), "");
  book.Put({KeyOf(graph_, both, alone), "alone"});
  EXPECT_EQ(book.Find(KeyIn(book, graph_, both, open)), "open");
  PlanBook strict;
  strict.Put({KeyOf(graph_, both, alone), "alone"});
  EXPECT_EQ(strict.Find(KeyIn(strict, graph_, both, open)), "alone");
}

TEST_F(DecisionTest, BookSaysWithWhichSettingsItHasAPlan) {
  const Limits made{.threads = 2, .precision = Precision::kNormal};
  PlanBook book;
  EXPECT_EQ(MissedSettings(book, graph_, device_, made), "");
  book.Put({KeyOf(graph_, device_, made), "text"});
  EXPECT_EQ(MissedSettings(book, graph_, device_, made), "");
  EXPECT_EQ(MissedSettings(book, graph_, device_, {.threads = 2}), "precision normal");
  EXPECT_EQ(MissedSettings(book, graph_, device_, {.threads = 1}), "precision normal, 2 threads");
  EXPECT_EQ(MissedSettings(book, graph_, device_, {.threads = 1, .precision = Precision::kNormal}),
            "2 threads");
  const ir::Graph another = MakeGraph("input %x: f32[1x4x6x6]\n%y = Relu(%x)\noutput %y\n");
  EXPECT_EQ(MissedSettings(book, another, device_, {.threads = 1}), "");
}

TEST_F(DecisionTest, ABookThatIsMissedIsSaidOnce) {
  auto book = std::make_shared<PlanBook>();
  book->Put({KeyOf(graph_, device_, {.threads = 2, .precision = Precision::kNormal}), "text"});
  std::vector<std::string> said;
  SetLogSink([&](LogLevel, std::string_view message) { said.emplace_back(message); },
             LogLevel::kWarn);
  const auto plans = PlansOf(book);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(plans->PlanFor(graph_, device_, {.threads = 2}).ok());
  SetLogSink(nullptr, LogLevel::kWarn);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("tuned with precision normal"), std::string::npos) << said[0];
}

TEST_F(DecisionTest, BookFindsTheSameGraphAndOneOfOtherExtents) {
  PlanBook book;
  const DecisionKey key = KeyOf(graph_, device_, {.threads = 2});
  book.Put({key, "text"});
  EXPECT_EQ(book.Find(key), "text");
  std::string larger(kNet);
  larger.replace(larger.find("6x6"), 3, "9x9");
  const DecisionKey other = KeyOf(MakeGraph(larger), device_, {.threads = 2});
  EXPECT_EQ(book.Find(other), "");
  EXPECT_EQ(book.FindSimilar(other), "text");
  DecisionKey single = other;
  single.threads = 1;
  EXPECT_EQ(book.FindSimilar(single), "");
  const auto read = ParseKey(PrintKey(key));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, key);
  EXPECT_FALSE(ParseKey("12 zz 3 cpu").ok());
}

}  // namespace
}  // namespace fettle::planner
