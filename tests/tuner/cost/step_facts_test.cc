// What a row says of a step is what the plan says of it, and no row of strangers breaks anything.
#include "tuner/predict/step_facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/tuner/cost/some_rows.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

TEST(StepFactsTest, OfARowAreThoseOfThePlan) {
  const auto graph = ParseGroup(kConvolution);
  const planner::Catalogue catalogue = CatalogueOf(*graph);
  const std::shared_ptr<Store> store = StoreWithCeilings(TestDevice());
  const LearnedCosts learned(TestDevice(), *store);
  int seen = 0;
  for (const planner::Kind& kind : catalogue.kinds) {
    for (const planner::Entry& entry : kind.entries) {
      const RowKey key = learned.KernelKey(kind, entry, entry.params);
      const StepFacts planned =
          FactsOf(*entry.kernel, kind.problem(entry), key.problem, false, key.device);
      const Result<StepFacts> of_row = FactsOf(key);
      ASSERT_TRUE(of_row.ok()) << of_row.status().message() << key.problem;
      EXPECT_EQ(of_row->kernel, planned.kernel);
      EXPECT_EQ(of_row->way, planned.way);
      EXPECT_EQ(of_row->family, planned.family);
      EXPECT_EQ(of_row->threads, planned.threads);
      EXPECT_EQ(of_row->problem, planned.problem);
      EXPECT_EQ(of_row->work.operations, planned.work.operations) << key.problem;
      EXPECT_EQ(of_row->work.bytes, planned.work.bytes) << key.problem;
      EXPECT_EQ(of_row->work.ceiling, planned.work.ceiling);
      ++seen;
    }
  }
  EXPECT_GT(seen, 10);
}

TEST(StepFactsTest, GroupsOfFewChannelsAreAnotherFamily) {
  const auto family = [](int groups) {
    const auto graph = ParseGroup(fmt::format(
        "input %x: f32[1x32x8x8]\nconst %w: f32[32x{}x3x3]\n"
        "%y: f32[1x32x6x6] = Conv(%x, %w) {{group={}, kernel_shape=[3,3]}}\noutput %y\n",
        32 / groups, groups));
    const planner::Catalogue catalogue = CatalogueOf(*graph);
    const planner::Kind& kind = catalogue.kinds[0];
    return FactsOf(*kind.entries[0].kernel, kind.problem(kind.entries[0]), "", false, "").family;
  };
  EXPECT_EQ(family(1), "Conv");
  EXPECT_EQ(family(2), "Conv/16");
  EXPECT_EQ(family(32), "Conv/1");
}

TEST(StepFactsTest, InstructionsAreOneWordWhateverTheFingerprint) {
  EXPECT_EQ(InstructionsOf("AMD EPYC; 2 cores; L1d 1 L2 2 L3 3; avx2 fma avx512"), "avx512");
  EXPECT_EQ(InstructionsOf("AMD EPYC; 2 cores; L1d 1 L2 2 L3 3; avx2 fma"), "avx2");
  EXPECT_EQ(InstructionsOf("avx2; 2 cores; L1d 1 L2 2 L3 3;"), "baseline");
  EXPECT_EQ(InstructionsOf(""), "baseline");
  EXPECT_EQ(InstructionsOf("opencl|A|B|NVIDIA Corporation|3|580|132 units"), "NVIDIA_Corporation");
  EXPECT_EQ(InstructionsOf("opencl|A|B|\n|3"), "_");
  EXPECT_EQ(InstructionsOf("opencl|"), "unknown");
}

TEST(StepFactsTest, OfAConversionAreThoseOfThePlan) {
  const Shape shape{1, 16, 8, 8};
  const State from{}, to{.layout = *LayoutFromName("NHWC", 4)};
  const Result<StepFacts> of_row = FactsOf(ConversionKey(shape, from, to, 2, TestDevice()));
  ASSERT_TRUE(of_row.ok()) << of_row.status().message();
  const StepFacts planned = FactsOfConversion(shape, from, to, 2, TestDevice().fingerprint());
  EXPECT_EQ(of_row->way, planned.way);
  EXPECT_EQ(of_row->problem, planned.problem);
  EXPECT_EQ(of_row->work.bytes, 2 * 4 * 1024);
}

TEST(StepFactsTest, NoTextBreaksThem) {
  std::mt19937 random(11);
  const RowKey key = SomeKey();
  for (int i = 0; i < 4000; ++i) {
    RowKey broken = key;
    for (int flips = 0; flips <= i % 3; ++flips) {
      const size_t at = random() % broken.problem.size();
      if (random() % 4 == 0) broken.problem.insert(at, "99999999999");
      broken.problem[at] = static_cast<char>(random());
    }
    const Result<StepFacts> facts = FactsOf(broken);
    if (!facts.ok()) continue;
    EXPECT_TRUE(std::isfinite(facts->work.operations) && facts->work.operations >= 0);
    EXPECT_TRUE(std::isfinite(facts->work.bytes) && facts->work.bytes >= 0);
  }
}

TEST(StepFactsTest, RefusesWhatNobodyCanHaveMeasured) {
  const RowKey key = SomeKey();
  const std::string states = "inputs cpu:host:row:f32\noutputs cpu:host:row:f32\n";
  const auto relu = [](const std::string& shape) {
    return fmt::format("graph ''\ninput %#0: f32[{0}]\n%#1: f32[{0}] = Relu(%#0)\noutput %#1\n",
                       shape);
  };
  for (const std::string& text :
       {std::string(), std::string("threads 1"), "threads 0\n" + states + relu("4"),
        "threads 99999999999999999999\n" + states + relu("4"),
        "threads 1\ninputs\noutputs\n" + relu("4"),
        "threads 1\ninputs cpu:host:row:f32\noutputs nowhere\n" + relu("4"),
        "threads 1\n" + states + relu("1099511627776"),
        "threads 1\n" + states + relu("1048576x1048576x1048576"),
        "threads 1\n" + states + relu("?x4"), "threads 1\n" + states + std::string(2 << 20, 'x'),
        std::string("convert f32[1x2"), std::string("convert f32[99999999999] a b threads 1"),
        std::string("convert f32[1x2] nowhere nowhere threads 1")}) {
    RowKey broken = key;
    broken.problem = text;
    EXPECT_FALSE(FactsOf(broken).ok()) << text.substr(0, 200);
  }
  RowKey unknown = key;
  unknown.kernel = "cpu.of.tomorrow";
  EXPECT_FALSE(FactsOf(unknown).ok());
}

}  // namespace
}  // namespace fettle::tuner
