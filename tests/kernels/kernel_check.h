// Runs one kernel on one problem under the rules of the kernel contract and compares with the
// oracle.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/kernel.h"
#include "tests/kernels/case_groups.h"

namespace fettle::kernels {

/// Everything that one run depends on.
struct KernelRun {
  const KernelDesc& kernel;
  const CaseGroup& group;
  Problem problem;
  Params params;
  std::string target;  // SIMD target
};

/// The device with a pool of `threads`, shared by all tests of the process.
const CpuDevice& TestDevice(int threads);

/// Runs with 1 and 3 threads, and once in place for each alias that the kernel offers. Checks the
/// outputs against the oracle, pad lanes for zero, bytes behind the outputs and the packed forms
/// for changes, and the results of different thread counts for equality.
testing::AssertionResult CheckRun(const KernelRun& run);

}  // namespace fettle::kernels
