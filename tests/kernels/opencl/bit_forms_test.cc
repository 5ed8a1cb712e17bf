// Products of bits on TestOpenClDevice() in each form of counting, where sums are integers that are
// scaled: what networks have.
#include <gtest/gtest.h>

#include "kernels/opencl/opencl_backend.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/opencl/bit_cases.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClBinaryProduct;

namespace {

/// Compilers take most of the time: what no form does differently is tried in two.
struct ScaledCase {
  const char* name;
  const char* graph;
  int64_t form_step = 3;
};

constexpr ScaledCase kScaledCases[] = {
    // Weights -w and w, an addend, borders of two words.
    {"bipolar",
     "input %x: u64[1x5x4x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[5x3x3x2] = noise(0, 9007199254740991)\n"
     "const %r: f32[3x5] = -1 -0.5 -0.3 2 -1 1 0.5 0.3 -2 1 0 0 0.25 0 -7\n"
     "%y = BinaryConv(%x, %w, %r) {channels=128, pads=[1,1,1,1], strides=[1,2]}\noutput %y\n",
     1},
    {"weights_of_zero", bit_cases::kWeightsOfZero},
    {"bits_of_zero", bit_cases::kBitsOfZero},
    {"groups",
     "input %x: u64[1x4x3x2] = noise(0, 16777215)\n"
     "const %w: u64[16x2x2x1] = noise(0, 16777215)\n"
     "const %l: i32[2x16] = noise(-20, 20)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=48, group=2, pads=[0,1,0,0]}\noutput %y\n"},
    {"residual", bit_cases::kResidual},
};

class OpenClBitFormsTest : public testing::TestWithParam<ScaledCase> {};

TEST_P(OpenClBitFormsTest, AgreeWithTheOracle) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const CaseGroup group = ParseGroup(GetParam().graph);
  const auto candidates = CandidatesOf(kOpenClBinaryProduct, *group.graph, **device);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  const Problem problem{group.graph, candidates->front(), 1};
  Params params = DefaultParams(kOpenClBinaryProduct, problem, **device);
  params["quads"] = 2;  // compilers take longest for large tiles
  params["columns"] = 2;
  for (params["form"] = 0; params["form"] < 5; params["form"] += GetParam().form_step) {
    EXPECT_TRUE(CheckRun({kOpenClBinaryProduct, group, problem, params, ""}, **device))
        << "form=" << params["form"];
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpenClBitFormsTest, testing::ValuesIn(kScaledCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::kernels
