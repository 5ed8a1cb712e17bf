// Kernels of matrix instructions on an OpenCL device, the instructions emulated where it has none.
#pragma once

#include <gtest/gtest.h>

#include "kernels/backend.h"
#include "kernels/opencl/probe/mma.h"
#include "kernels/opencl/probe/probe.h"
#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {

/// The usual one of processors: what is changed of it is the same on all devices.
inline const Params kSmallTile = {{"BM", 32}, {"BN", 32}, {"BK", 32},    {"WM", 16},
                                  {"WN", 16}, {"WK", 1},  {"STAGES", 2}, {"SPLIT", 1}};

class OpenClMma : public testing::Test {
 protected:
  void SetUp() override {
    const auto& plain = TestOpenClDevice();
    if (!plain.ok()) GTEST_SKIP() << "no OpenCL device: " << plain.status().message();
    const bool has_own = (*plain)->facts().HasExtension("cl_nv_device_attribute_query");
    static const auto& opened = *new Result<std::shared_ptr<OpenClDevice>>(
        OpenClDevice::Open((*plain)->facts().platform, {.emulate_mma = !has_own}));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    static const auto& probed = *new Result<MmaFacts>(ProbeMma(**opened));
    ASSERT_TRUE(probed.ok()) << probed.status().message();
    (*opened)->Learn(*probed);
    device_ = opened->get();
  }

  void Check(const KernelDesc& kernel, std::string_view text, const Params& changes = {}) {
    const CaseGroup group = ParseGroup(text);
    const auto candidates = CandidatesOf(kernel, *group.graph, *device_);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    for (const StateAssignment& states : *candidates) {
      KernelRun run{kernel, group, {group.graph, states, 1}, {}, ""};
      run.params = DefaultParams(kernel, run.problem, *device_);
      if (!changes.empty() && run.params.contains("SPLIT"))
        for (const auto& [name, value] : kSmallTile) run.params[name] = value;
      for (const auto& [name, value] : changes) run.params[name] = value;
      const ParamSpace space = SpaceOf(kernel, run.problem, *device_);
      const Status valid = space.check ? space.check(run.params) : OkStatus();
      ASSERT_TRUE(valid.ok()) << valid.message();
      EXPECT_TRUE(CheckRun(run, *device_));
    }
  }

  const OpenClDevice* device_ = nullptr;
};

}  // namespace fettle::kernels
