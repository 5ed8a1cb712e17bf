// Kernels that are asked about some states alone say of these what they say of all.
#include "kernels/wanted_states.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "ops/cases.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// How many states were left out of the answers about single ones.
size_t CompareMatches(const KernelDesc& kernel, const std::shared_ptr<const ir::Graph>& group,
                      const Device& device) {
  const auto whole = MatchGroup(kernel, group, device);
  size_t left_out = 0;
  for (size_t i = 0; whole.ok() && i < (*whole)->states().size(); ++i) {
    const StateAssignment states = (*whole)->states()[i];
    const WantedStates wanted(states);
    const auto match = MatchGroup(kernel, group, device);
    EXPECT_TRUE(match.ok()) << kernel.name << ": " << match.status().message();
    if (!match.ok()) continue;
    EXPECT_TRUE(FindStates(kernel, **match, states).ok()) << kernel.name << " state " << i;
    EXPECT_EQ((*match)->taste(), (*whole)->taste());
    for (const StateAssignment& listed : (*match)->states())
      EXPECT_TRUE(FindStates(kernel, **whole, listed).ok()) << kernel.name;
    left_out += (*whole)->states().size() - (*match)->states().size();
  }
  return left_out;
}

TEST(WantedStatesTest, OneStateIsListedAsAmongAll) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  size_t left_out = 0;
  for (const ops::Case& one : ops::AllCases()) {
    if (one.bench) continue;
    auto graph = std::make_shared<ir::Graph>(ops::Parse(one.graph).value());
    if (!ops::InferGraph(*graph).ok()) continue;  // shapes that depend on data are no group's
    for (const KernelDesc* kernel : CpuKernels())
      left_out += CompareMatches(*kernel, graph, device);
  }
  EXPECT_GT(left_out, 1000u);
}

}  // namespace
}  // namespace fettle::kernels
