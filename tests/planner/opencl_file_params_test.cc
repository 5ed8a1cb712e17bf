// Plans come from packages and databases: parameters that no list has are refused with a line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "device/cpu/cpu_device.h"
#include "device/opencl/opencl_device.h"
#include "kernels/opencl/opencl_backend.h"
#include "planner/decision.h"
#include "planner/planner.h"
#include "tests/kernels/case_groups.h"
#include "tests/opencl_device.h"

namespace fettle::planner {
namespace {

/// No device takes larger work-groups.
constexpr int64_t kMostItems = 1 << 16;
constexpr int64_t kHostile[] = {-7, 0, 7, 1000, int64_t{1} << 40, INT64_MIN};

/// Groups of a kernel that are tried; more find nothing that these do not.
constexpr int kGroupsOfAKernel = 2;

class OpenClFileParams : public testing::Test {
 protected:
  void SetUp() override {
    const auto& opened = TestOpenClDevice();
    if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
    const auto emulating =
        OpenClDevice::Open((*opened)->facts().platform, {.emulate_mma = true}).value();
    emulating->Learn({.available = true, .bits = true, .emulated = true, .local_bytes = 48 << 10});
    device_ = emulating;
  }

  /// One group by one kernel.
  static Decision DecisionOf(const ir::Graph& graph, const kernels::KernelDesc& kernel,
                             const kernels::StateAssignment& states, kernels::Params params) {
    GroupDecision group{.kernel = std::string(kernel.name),
                        .version = kernel.version,
                        .params = std::move(params),
                        .states = states};
    for (size_t i = 0; i < graph.nodes().size(); ++i)
      group.nodes.push_back(static_cast<ir::NodeId>(i));
    return {.groups = {std::move(group)}};
  }

  DeviceSet devices() const { return {cpu_, device_.get()}; }
  Result<exec::Plan> Plan(const ir::Graph& graph, const Decision& decision) const {
    return Apply(graph, decision, devices(), 2);
  }

  /// Returns how many parameters were refused.
  int TryParams(const kernels::KernelDesc& kernel, const kernels::CaseGroup& group) const {
    const auto match = kernels::MatchGroup(kernel, group.graph, *device_);
    if (!match.ok()) return 0;
    const kernels::StateAssignment& states = (*match)->states()[0];
    const kernels::ParamSpace space = (*match)->params(0, 2);
    const auto usual = Plan(*group.graph, DecisionOf(*group.graph, kernel, states, space.usual));
    if (!usual.ok()) return 0;  // a part of a case that no plan has
    int refused = 0;
    for (const kernels::Tunable& tunable : space.tunables) {
      // Work-groups that tuning proposes need not be of the list.
      const bool is_group = tunable.name.starts_with("group_");
      for (int64_t value : kHostile) {
        kernels::Params params = space.usual;
        params[tunable.name] = value;
        const bool is_known = std::ranges::find(tunable.values, value) != tunable.values.end() ||
                              params == space.usual ||
                              (is_group && value > 0 && value <= kMostItems);
        const auto plan = Plan(*group.graph, DecisionOf(*group.graph, kernel, states, params));
        if (is_known || plan.ok()) {
          EXPECT_TRUE(is_known) << kernel.name << " takes " << tunable.name << " " << value;
          continue;
        }
        EXPECT_EQ(plan.status().code(), StatusCode::kVersionMismatch) << kernel.name;
        EXPECT_THAT(std::string(plan.status().message()),
                    testing::HasSubstr(is_group ? "work-group" : tunable.name));
        ++refused;
      }
    }
    return refused;
  }

  CpuDevice cpu_{std::make_shared<ThreadPool>(2)};
  std::shared_ptr<const Device> device_;
};

TEST_F(OpenClFileParams, ValuesOfNoListAreRefused) {
  std::map<const kernels::KernelDesc*, int> groups_of;
  int refused = 0;
  for (const ops::Case& test : ops::AllCases()) {
    if (test.bench) continue;
    const auto evaluated = kernels::EvaluateCase(test);
    if (!evaluated.ok()) continue;
    for (const kernels::CaseGroup& group : kernels::GroupsOf(*evaluated)) {
      for (const kernels::KernelDesc* kernel : kernels::OpenClKernels()) {
        if (groups_of[kernel] == kGroupsOfAKernel) continue;
        const int done = TryParams(*kernel, group);
        groups_of[kernel] += done > 0;
        refused += done;
      }
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace fettle::planner
