// Every kernel on every case through the tuner's verification: extreme inputs included.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/problem_text.h"
#include "ops/cases.h"
#include "ops/op.h"
#include "tests/case_printer.h"
#include "tests/tuner/groups.h"
#include "tuner/measure/measure.h"

namespace fettle::tuner {
namespace {

/// As little timing as possible.
MeasureOptions HardlyTimed() {
  return {.warm_ups = 0, .min_samples = 1, .min_ms = 0, .precision = 1, .max_ms = 1e-3};
}

class VerifyCasesTest : public testing::TestWithParam<ops::Case> {};

TEST_P(VerifyCasesTest, KernelsPass) {
  Result<ir::Graph> parsed = ops::Parse(GetParam().graph);
  ASSERT_TRUE(parsed.ok());
  if (const Status inferred = ops::InferGraph(*parsed); !inferred.ok())
    GTEST_SKIP() << inferred.message();
  if (parsed->nodes().size() > 1 && GetParam().bench) GTEST_SKIP() << "large, and of several nodes";
  const auto graph = std::make_shared<const ir::Graph>(std::move(parsed).value());
  Bench bench(TestDevice(), HardlyTimed());
  int candidates = 0;
  for (const kernels::KernelDesc* kernel : kernels::CpuKernels()) {
    const auto states = kernels::CandidatesOf(*kernel, *graph, TestDevice());
    // On large cases the reference takes seconds, and it is what the others are compared with.
    if (!states.ok() || (kernel->is_reference() && GetParam().bench)) continue;
    for (const kernels::StateAssignment& assignment : *states) {
      Candidate candidate{kernel, {graph, assignment, 2}, {}};
      candidate.params = DefaultParams(*kernel, candidate.problem, TestDevice());
      const Row row = bench.Run(candidate);
      EXPECT_EQ(row.status, Row::Status::kOk) << kernel->name << ": " << row.reason << "\n"
                                              << kernels::PrintProblem(candidate.problem);
      ++candidates;
    }
  }
  if (candidates == 0) GTEST_SKIP() << "no kernel takes the whole case";
}

INSTANTIATE_TEST_SUITE_P(All, VerifyCasesTest, testing::ValuesIn(ops::AllCases()),
                         ops::CaseTestName);

}  // namespace
}  // namespace fettle::tuner
