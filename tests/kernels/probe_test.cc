#include "kernels/cpu/probe/probe.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv_strips/strip.h"
#include "kernels/cpu/probe/fma.h"
#include "kernels/cpu/probe/loops.h"
#include "kernels/cpu/probe/memory.h"
#include "kernels/cpu/simd/targets.h"
#include "kernels/probe_row.h"

namespace fettle::kernels {
namespace {

TEST(Probe, MeasuresWhatTheMachineHas) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const std::vector<Ceiling>& ceilings = Probe(device);
  std::set<std::string> names;
  for (const Ceiling& ceiling : ceilings) {
    EXPECT_GT(ceiling.value, 0) << ceiling.name;
    EXPECT_GE(ceiling.best, ceiling.value) << ceiling.name;
    EXPECT_GE(ceiling.repeats, 5) << ceiling.name;
    EXPECT_GE(ceiling.spread, 0) << ceiling.name;
    EXPECT_LE(ceiling.spread, 1) << ceiling.name;
    EXPECT_TRUE(names.insert(ceiling.name).second) << ceiling.name;
  }
  EXPECT_TRUE(names.contains("fp32 fma"));
  EXPECT_TRUE(names.contains("DRAM read"));
  EXPECT_TRUE(names.contains("DRAM copy"));
  EXPECT_EQ(names.contains("int8 dot"), device.info().avx512_vnni);
  EXPECT_EQ(names.contains("bf16 dot"), device.info().avx512_bf16);
  EXPECT_EQ(&Probe(device), &ceilings);
  EXPECT_GT(ProbeFmaFlops(0), 0);
}

TEST(Probe, LoopsKnowWhatTheyDid) {
  for (const auto& [loop, runs] : ListLoops()) {
    if (!runs) continue;
    for (const int64_t rounds : {int64_t{1}, int64_t{2}, int64_t{1001}}) {
      if (loop.independent != nullptr) {
        EXPECT_EQ(loop.independent(rounds) % rounds, 0) << loop.instruction << " " << loop.isa;
        EXPECT_GT(loop.independent(rounds), 0) << loop.instruction << " " << loop.isa;
      }
      if (loop.dependent != nullptr) {
        EXPECT_EQ(loop.dependent(rounds), rounds) << loop.instruction << " " << loop.isa;
      }
    }
  }
}

TEST(Probe, MemoryIsReadWrittenAndCopied) {
  const int64_t bytes = 3 * kMemoryGranule;
  alignas(64) static uint32_t from[3 * kMemoryGranule / 4], to[3 * kMemoryGranule / 4];
  std::fill(std::begin(from), std::end(from), 5U);
  for (const MemoryLoop& loop : MemoryLoops()) {
    EXPECT_TRUE(loop.run(from, to, bytes, 1)) << loop.name;
    EXPECT_TRUE(loop.run(from, to, bytes, 3)) << loop.name;
  }
  // What was left out shows.
  from[0] = 6;
  EXPECT_FALSE(MemoryLoops()[0].run(from, to, bytes, 1));
}

TEST(Probe, MeasuresWhatItIsAskedForAndSaysWhatIsNotThere) {
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  const auto all = ProbeCpu(device, {.for_bounds = false, .only = "L1 read", .threads = 2});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "L1 read");
  EXPECT_EQ(all[1].name, "L1 read, 2 cores");
  EXPECT_EQ(all[1].column, "read, 2 cores");
  const CpuDevice alone(std::make_shared<ThreadPool>(1));
  const auto loops = ProbeCpu(alone, {.for_bounds = false, .only = "parallel loop"});
  ASSERT_EQ(loops.size(), 2U);
  EXPECT_EQ(loops[0].status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(loops[0].status.message(), "one thread has no others to wake");
}

TEST(ProbeRow, RaisesTheAmountAndKeepsTheMedian) {
  std::vector<int64_t> amounts;
  const ProbeRow row{
      .name = {.name = "loop", .unit = "us"}, .run = [&](int64_t amount) {
        amounts.push_back(amount);
        const double noise = amounts.size() % 3 == 0 ? 1.5 : 1;
        return Result<ProbeSample>(ProbeSample{2 * noise, 10.0 * static_cast<double>(amount)});
      }};
  const Ceiling ceiling = MeasureRow(row, 1e4);
  EXPECT_EQ(ceiling.value, 2);
  EXPECT_EQ(ceiling.best, 2);
  EXPECT_NEAR(ceiling.spread, 1.0 / 3, 1e-9);
  EXPECT_EQ(ceiling.repeats, 14);
  EXPECT_GE(amounts.back(), 1000);
  EXPECT_EQ(amounts.front(), 1);
}

TEST(ProbeRow, AWrongResultIsNoFigure) {
  const ProbeRow row{.name = {.name = "loop", .unit = "B/s"},
                     .run = [](int64_t) { return Result<ProbeSample>(WrongResult()); }};
  const Ceiling ceiling = MeasureRow(row, 1);
  EXPECT_EQ(ceiling.status.code(), StatusCode::kInternal);
  EXPECT_EQ(ceiling.value, 0);
}

TEST(ProbeRow, ACancelledProbeEndsWithTheRunInHand) {
  std::atomic<bool> cancelled = false;
  int runs = 0;
  const ProbeRow row{.name = {.name = "loop", .unit = "us"}, .run = [&](int64_t) {
                       cancelled = ++runs == 3;
                       return Result<ProbeSample>(ProbeSample{1, 100});
                     }};
  const std::vector<Ceiling> ceilings =
      MeasureRows({row, row}, {.for_bounds = false, .cancelled = &cancelled}, 10);
  EXPECT_EQ(runs, 3);
  ASSERT_EQ(ceilings.size(), 2U);
  for (const Ceiling& ceiling : ceilings) EXPECT_EQ(ceiling.status.code(), StatusCode::kCancelled);
}

// Also run by itself with FETTLE_CPU_ISA, in a process that has not asked for them before.
TEST(SimdTargets, AskingForThemChangesNone) {
  const int64_t lanes = GetStripKernels().lanes;
  EXPECT_FALSE(SimdTargets().empty());
  EXPECT_EQ(GetStripKernels().lanes, lanes);
  // A build for one instruction set knows no other.
  if (SimdTargets().size() > 1) {
    EXPECT_LE(lanes, GetCpuInfo().avx512 ? 16 : 8);
  }
}

}  // namespace
}  // namespace fettle::kernels
