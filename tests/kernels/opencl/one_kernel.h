// Tests of OpenCL kernels, and of one on groups that it is made for.
#pragma once

#include <gtest/gtest.h>

#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {

/// Skips where there is no OpenCL device.
class OnOpenCl : public testing::Test {
 protected:
  void SetUp() override {
    const auto& device = TestOpenClDevice();
    if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
    device_ = device->get();
  }

  const OpenClDevice* device_ = nullptr;
};

template <const KernelDesc& kKernel>
class OneOpenClKernel : public OnOpenCl {
 protected:
  /// Against the oracle in each of the assignments of states that the kernel offers for the group;
  /// usually floats in f32 and in f16. `changes`: of its default parameters.
  void Check(std::string_view text, size_t states = 2, const Params& changes = {}) {
    const CaseGroup group = ParseGroup(text);
    const auto candidates = CandidatesOf(kKernel, *group.graph, *device_);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    ASSERT_EQ(candidates->size(), states);
    for (const StateAssignment& candidate : *candidates) {
      KernelRun run{kKernel, group, {group.graph, candidate, 1}, {}, ""};
      if (!changes.empty()) {
        run.params = DefaultParams(kKernel, run.problem, *device_);
        for (const auto& [name, value] : changes) run.params[name] = value;
        const Status valid = SpaceOf(kKernel, run.problem, *device_).check(run.params);
        ASSERT_TRUE(valid.ok()) << valid.message();
      }
      EXPECT_TRUE(CheckRun(run, *device_));
    }
  }

  std::string RefusalOf(std::string_view text) {
    return CandidatesOf(kKernel, *ParseGroup(text).graph, *device_).status().message();
  }
};

}  // namespace fettle::kernels
