// Runs one kernel on one problem under the rules of the kernel contract and compares with the
// oracle.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/kernel.h"
#include "tensor/compare.h"
#include "tests/kernels/case_groups.h"

namespace fettle::kernels {

/// Everything that one run depends on.
struct KernelRun {
  const KernelDesc& kernel;
  const CaseGroup& group;
  Problem problem;
  Params params;
  std::string target;  // SIMD target; "" on other devices than the CPU
  /// Unset: what the group's types and sums allow.
  std::optional<Tolerance> tolerance = std::nullopt;
  Subnormals subnormals = Subnormals::kFlush;
};

/// The device with a pool of `threads`, shared by all tests of the process.
const CpuDevice& TestDevice(int threads);

/// Parameter combinations besides the default.
inline constexpr int kRandomParams = 3;

/// The default parameters and up to `others` other valid ones, the same in every run.
std::vector<Params> ParamsToTry(const KernelDesc& kernel, const Problem& problem,
                                const Device& device, int others = kRandomParams);

/// Runs twice on `device` of the kernel's kind, on the CPU with 1 and 3 threads, with unwritten
/// memory poisoned in two ways, and once in place for each alias that the kernel offers. Checks the
/// outputs against the oracle, pad lanes for zero, bytes next to the operands, the workspace and
/// the packed forms for changes, and the results of both runs for equality.
testing::AssertionResult CheckRun(const KernelRun& run, const Device& device);

/// CheckRun of a CPU kernel on the group of `text`, in its first candidate's states with the
/// default parameters.
void CheckKernel(const KernelDesc& kernel, std::string_view text, const Tolerance& tolerance);

}  // namespace fettle::kernels
