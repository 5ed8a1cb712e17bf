// Kernels that compute in f16, against the oracle within what storing f16 may cost: 16 units of the
// last place of the largest result. Sums of random signs in parts of 16 products stay well below
// that, sums of thousands of products in f16 alone would not.
//
// The device is TestOpenClDevice()'s with f16 emulated where it has no cl_khr_fp16: the same
// sources, in which each operation is f32 and rounded to f16.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/opencl/opencl_backend.h"
#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {
namespace {

const Result<std::shared_ptr<OpenClDevice>>& HalfDevice() {
  static const Result<std::shared_ptr<OpenClDevice>> device =
      []() -> Result<std::shared_ptr<OpenClDevice>> {
    ASSIGN_OR_RETURN(const std::shared_ptr<OpenClDevice> plain, TestOpenClDevice());
    return OpenClDevice::Open(plain->facts().platform, {.emulate_fp16 = true});
  }();
  return device;
}

/// A case and the kernel that is to compute the whole of it.
struct HalfCase {
  const char* name;
  const char* kernel;
};
void PrintTo(const HalfCase& test, std::ostream* out) { *out << test.name; }

Result<CaseGroup> GroupOf(const char* name) {
  const std::vector<ops::Case> cases = ops::AllCases();
  const auto test = std::find_if(cases.begin(), cases.end(), [&](const ops::Case& other) {
    return other.name == std::string_view(name);
  });
  if (test == cases.end()) return InvalidArgument("there is no case '{}'", name);
  return ParseGroup(test->graph);
}

const KernelDesc* KernelNamed(std::string_view name) {
  for (const KernelDesc* kernel : OpenClKernels())
    if (kernel->name == name) return kernel;
  return nullptr;
}

class OpenClHalfTest : public testing::TestWithParam<HalfCase> {};

TEST_P(OpenClHalfTest, AgreesWithTheOracle) {
  const auto& device = HalfDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const Result<CaseGroup> group = GroupOf(GetParam().name);
  ASSERT_TRUE(group.ok()) << group.status().message();
  const KernelDesc* kernel = KernelNamed(GetParam().kernel);
  ASSERT_NE(kernel, nullptr);
  const auto candidates = CandidatesOf(*kernel, *group->graph, **device);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  for (const StateAssignment& states : *candidates) {
    if (states.outputs[0].memory != candidates->front().outputs[0].memory) continue;
    const Problem problem{group->graph, states, 1};
    const Params params = DefaultParams(*kernel, problem, **device);
    EXPECT_TRUE(CheckRun({*kernel, *group, problem, params, ""}, **device));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OpenClHalfTest,
    testing::Values(HalfCase{"conv.1x1_add_relu", "opencl.conv.pointwise.f16"},
                    HalfCase{"conv.3x3_channels_33", "opencl.conv.direct.f16"},
                    HalfCase{"conv.3x3_prelu", "opencl.conv.direct.f16"},
                    HalfCase{"conv.depthwise_clip", "opencl.conv.depthwise.f16"},
                    HalfCase{"elementwise.add_both_broadcast", "opencl.elementwise.chain.f16"},
                    HalfCase{"elementwise.silu_chain", "opencl.elementwise.chain.f16"},
                    HalfCase{"matmul.batch_list_relu", "opencl.matmul.registers.f16"},
                    HalfCase{"matmul.huge_k", "opencl.matmul.registers.f16"},
                    HalfCase{"matmul.primes", "opencl.matmul.local.f16"}));

TEST(OpenClHalf, IsRefusedWithoutTheExtension) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  if ((*device)->facts().fp16_compute) GTEST_SKIP() << "the device has cl_khr_fp16";
  const CaseGroup group = ParseGroup("input %x: f32[5x7]\n%y = Relu(%x)\noutput %y\n");
  const KernelDesc* kernel = KernelNamed("opencl.elementwise.chain.f16");
  ASSERT_NE(kernel, nullptr);
  const auto candidates = CandidatesOf(*kernel, *group.graph, **device);
  ASSERT_FALSE(candidates.ok());
  EXPECT_EQ(candidates.status().message(), "device has no cl_khr_fp16");
}

}  // namespace
}  // namespace fettle::kernels
