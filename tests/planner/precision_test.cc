// Which kernels a precision allows on the CPU, and which one the default plan takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "device/cpu/amx.h"
#include "device/cpu/cpu_device.h"
#include "kernels/arithmetic.h"
#include "kernels/cpu/simd/targets.h"
#include "ops/op.h"
#include "planner/choices.h"

namespace fettle::planner {
namespace {

TEST(Precision, DecidesWhoMayMultiplyBf16) {
  ir::Graph graph =
      ops::Parse("input %x: f32[128x256]\nconst %w: f32[256x256]\n%y = MatMul(%x, %w)\noutput %y\n")
          .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const DeviceSet devices(cpu);
  const bool has_vectors = GetCpuInfo().avx512_bf16 && kernels::RunsSimdTarget("AVX3");
  const bool has_tiles = has_vectors && GetAmxSets().bf16;
  // Weights alone are rounded on any processor.
  const int rows = 1 + (has_vectors ? 1 : 0) + (has_tiles ? 1 : 0);
  const auto choices_at = [&](Precision precision) {
    return ListChoices(graph, {.nodes = {ir::NodeId{0}}}, devices,
                       {.threads = 1, .precision = precision});
  };
  const auto count = [](const GroupChoices& choices) {
    return std::ranges::count_if(choices.choices, [](const Choice& choice) {
      return choice.kernel->arithmetic == kernels::Arithmetic::kBF16;
    });
  };
  const GroupChoices high = choices_at(Precision::kHigh);
  EXPECT_EQ(count(high), 0);
  const auto refused = std::ranges::find_if(
      high.rejected, [](const Rejection& one) { return one.kernel == "cpu.bf16.gemm.amx"; });
  ASSERT_NE(refused, high.rejected.end());
  EXPECT_EQ(refused->reason, "computes in bf16: --precision high allows f32 alone");
  for (const Precision precision : {Precision::kNormal, Precision::kLow}) {
    const GroupChoices choices = choices_at(precision);
    EXPECT_EQ(count(choices), rows);
    // What is not known to be faster is not the default.
    EXPECT_EQ(choices.choices[0].kernel->arithmetic == kernels::Arithmetic::kBF16, has_tiles);
  }
}

TEST(Precision, EveryArithmeticHasARowThatDecidesWhereItMayBeUsed) {
  for (int i = 0; i < std::ssize(kernels::kArithmetics); ++i) {
    const kernels::ArithmeticRow& row = kernels::kArithmetics[i];
    EXPECT_EQ(static_cast<int>(row.arithmetic), i) << row.name;
    EXPECT_EQ(row.unit_roundoff > 0, row.loss == kernels::Loss::kFactors) << row.name;
    std::string allowed;
    for (const Precision precision : {Precision::kHigh, Precision::kNormal, Precision::kLow}) {
      const std::string refusal = Limits{.precision = precision}.RefusalOf(row.arithmetic);
      allowed += refusal.empty() ? 'y' : 'n';
      EXPECT_EQ(refusal.find(row.name) != std::string::npos, !refusal.empty()) << refusal;
    }
    const bool is_f16 = row.arithmetic == kernels::Arithmetic::kF16;
    EXPECT_EQ(allowed, is_f16                             ? "nny"
                       : kernels::IsLossy(row.arithmetic) ? "nyy"
                                                          : "yyy")
        << row.name;
  }
  EXPECT_EQ(static_cast<int>(kernels::Arithmetic::kReference) + 1,
            std::ssize(kernels::kArithmetics));
}

}  // namespace
}  // namespace fettle::planner
