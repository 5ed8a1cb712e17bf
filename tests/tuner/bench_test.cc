// The bench on real kernels. Times are whatever they are; nothing here depends on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/check/tolerance.h"
#include "tests/tuner/groups.h"
#include "tuner/measure/measure.h"

namespace fettle::tuner {
namespace {

MeasureOptions Short() { return {.min_ms = 0, .max_ms = 1, .final_ms = 2}; }

/// All kernels in all states with default parameters.
std::vector<Candidate> CandidatesFor(std::string_view text, int threads) {
  const auto group = ParseGroup(text);
  std::vector<Candidate> candidates;
  for (const kernels::KernelDesc* kernel : kernels::CpuKernels()) {
    const auto states = kernels::CandidatesOf(*kernel, *group, TestDevice());
    if (!states.ok()) continue;
    for (const kernels::StateAssignment& assignment : *states) {
      Candidate candidate{kernel, {group, assignment, threads}, {}};
      candidate.params = DefaultParams(*kernel, candidate.problem, TestDevice());
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

constexpr std::string_view kConv =
    "input %x: f32[1x13x9x11]\nconst %w: f32[19x13x3x3]\nconst %b: f32[19]\n"
    "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%y = Relu(%c)\noutput %y\n";

TEST(BenchTest, TimesConvolutionsOnOneThreadAndOnTwo) {
  Bench bench(TestDevice(), Short());
  for (const int threads : {1, 2}) {
    const std::vector<Candidate> candidates = CandidatesFor(kConv, threads);
    ASSERT_FALSE(candidates.empty());
    for (const Candidate& candidate : candidates) {
      const Row row = bench.Run(candidate);
      EXPECT_EQ(row.status, Row::Status::kOk) << candidate.kernel->name << ": " << row.reason;
      EXPECT_GT(row.median_us, 0);
      EXPECT_GE(row.median_us, row.low_us);
      EXPECT_GE(row.samples, 1);
      EXPECT_EQ(row.error > 0, kernels::IsLossy(candidate.kernel->arithmetic)) << row.error;
      EXPECT_GT(row.unix_seconds, 0);
    }
  }
}

TEST(BenchTest, RacesCandidatesForEqualStates) {
  std::vector<Candidate> candidates = CandidatesFor(kConv, 1);
  const kernels::StateAssignment states = candidates[0].problem.states;
  std::erase_if(candidates, [&](const Candidate& c) { return c.problem.states != states; });
  candidates.push_back(candidates[0]);
  const std::vector<Row> rows = Bench(TestDevice(), Short()).Race(candidates);
  ASSERT_EQ(rows.size(), candidates.size());
  EXPECT_GE(Pick(rows), 0);
}

TEST(BenchTest, ARematchIsOfAnyStatesAndThreads) {
  Bench bench(TestDevice(), Short());
  std::vector<Candidate> candidates = CandidatesFor(kConv, 1);
  const std::vector<Candidate> on_two = CandidatesFor(kConv, 2);
  candidates.insert(candidates.end(), on_two.begin(), on_two.end());
  std::vector<Row> known;
  for (const Candidate& candidate : candidates) known.push_back(bench.Run(candidate));
  const std::vector<Row> rows = bench.Rematch(candidates, known);
  ASSERT_EQ(rows.size(), candidates.size());
  for (const Row& row : rows) {
    EXPECT_EQ(row.status, Row::Status::kOk) << row.reason;
    EXPECT_GT(row.median_us, 0);
  }
  EXPECT_NEAR(rows[0].median_us, known[0].median_us, 1e-6 * known[0].median_us);
}

TEST(BenchTest, LargeGroupsAreVerifiedOnSamples) {
  MeasureOptions options = Short();
  options.whole_macs = 1000;
  Bench bench(TestDevice(), options);
  for (const Candidate& candidate : CandidatesFor(kConv, 2)) {
    const Row row = bench.Run(candidate);
    EXPECT_EQ(row.status, Row::Status::kOk) << candidate.kernel->name << ": " << row.reason;
  }
}

TEST(BenchTest, ViewsAndEmptyResultsCostNothing) {
  Bench bench(TestDevice(), Short());
  int views = 0;
  for (const Candidate& candidate : CandidatesFor(
           "input %x: f32[2x6]\nconst %s: i64[2] = 3 4\n%y = Reshape(%x, %s)\noutput %y\n", 1)) {
    const Row row = bench.Run(candidate);
    EXPECT_EQ(row.status, Row::Status::kOk) << row.reason;
    views += row.median_us == 0 ? 1 : 0;
  }
  EXPECT_GT(views, 0);
  for (const Candidate& candidate :
       CandidatesFor("input %x: f32[2x0]\n%y = Relu(%x)\noutput %y\n", 1)) {
    EXPECT_EQ(bench.Run(candidate).median_us, 0);
  }
}

TEST(BenchTest, WhatCannotRunOnMadeUpInputsSaysSo) {
  ir::Graph graph =
      ops::Parse("input %x: f32[4x6]\ninput %s: i64[2]\n%y = Reshape(%x, %s)\noutput %y\n").value();
  graph.value(graph.outputs[0]).shape = Shape{6, 4};
  graph.value(graph.outputs[0]).dtype = DType::kF32;
  const auto group = std::make_shared<const ir::Graph>(std::move(graph));
  const Candidate candidate{
      kernels::CpuKernels()[0], {group, kernels::RowMajorStates(*group), 1}, {}};
  const Row row = Bench(TestDevice(), Short()).Run(candidate);
  EXPECT_EQ(row.status, Row::Status::kFailed);
  EXPECT_THAT(row.reason, testing::HasSubstr("known at run time only"));
}

TEST(BenchTest, ConversionsBetweenAllLayoutsAreVerifiedAndTimed) {
  Bench bench(TestDevice(), Short());
  const Shape shape{1, 21, 6, 5};
  for (const NamedLayout& from : LayoutTable()) {
    for (const NamedLayout& to : LayoutTable()) {
      if (from.rank != shape.rank() || to.rank != shape.rank()) continue;
      if (from.layout.image_y_dims != 0 || to.layout.image_y_dims != 0) continue;
      const Row row = bench.RunConversion(shape, DType::kF32, {.layout = from.layout},
                                          {.layout = to.layout}, 2);
      EXPECT_EQ(row.status, Row::Status::kOk) << from.name << " to " << to.name << row.reason;
      EXPECT_GT(row.median_us, 0);
    }
  }
  const Row narrow =
      bench.RunConversion(shape, DType::kF32, {.external = true}, {.storage = DType::kF16}, 1);
  EXPECT_EQ(narrow.status, Row::Status::kOk) << narrow.reason;
}

TEST(CandidateTest, KeysTellApartWhatDiffers) {
  const std::vector<Candidate> one = CandidatesFor(kConv, 1), two = CandidatesFor(kConv, 2);
  const RowKey key = KeyOf(one[0], TestDevice());
  EXPECT_EQ(key, KeyOf(one[0], TestDevice()));
  EXPECT_NE(key.problem, KeyOf(two[0], TestDevice()).problem);
  Candidate tuned = one[0];
  tuned.params = {{"b", 2}, {"a", 1}};
  EXPECT_EQ(KeyOf(tuned, TestDevice()).params, "a=1,b=2");
  const RowKey conversion = ConversionKey(Shape{1, 3, 4, 4}, {.external = true},
                                          {.storage = DType::kF16}, 2, TestDevice());
  EXPECT_EQ(conversion.problem,
            "convert f32[1x3x4x4] cpu:host:row:f32:external cpu:host:row:f16 threads 2");
  EXPECT_EQ(conversion.protocol, kProtocol);
}

}  // namespace
}  // namespace fettle::tuner
