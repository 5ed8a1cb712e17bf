// Products of bytes on TestOpenClDevice() in both forms of their weights: shorts, and bytes for
// integer dot products (of cl_khr_integer_dot_product where the device has it).
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/opencl/opencl_backend.h"
#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {
namespace {

class DotFormsTest : public testing::TestWithParam<const char*> {};

TEST_P(DotFormsTest, AgreeWithTheOracle) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const std::vector<ops::Case> cases = ops::AllCases();
  const auto test = std::find_if(cases.begin(), cases.end(), [](const ops::Case& other) {
    return other.name == std::string_view(GetParam());
  });
  ASSERT_NE(test, cases.end());
  const CaseGroup group = ParseGroup(test->graph);
  int forms = 0;
  for (const KernelDesc* kernel : OpenClKernels()) {
    const auto candidates = CandidatesOf(*kernel, *group.graph, **device);
    if (!candidates.ok()) continue;
    const Problem problem{group.graph, candidates->front(), 1};
    Params params = DefaultParams(*kernel, problem, **device);
    if (!params.contains("dot")) continue;
    for (const int64_t dot : {0, 1}) {
      params["dot"] = dot;
      EXPECT_TRUE(CheckRun({*kernel, group, problem, params, ""}, **device)) << "dot=" << dot;
      ++forms;
    }
  }
  EXPECT_EQ(forms, 2);
}

INSTANTIATE_TEST_SUITE_P(All, DotFormsTest,
                         testing::Values("quantise.conv_qdq", "quantise.conv_qdq_bias_first",
                                         "quantise.conv_qdq_residual", "quantise.dynamic_conv",
                                         "quantise.gemm_qdq"));

}  // namespace
}  // namespace fettle::kernels
