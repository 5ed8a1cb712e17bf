// Whether the operators that documentation promises for OpenCL devices are those that kernels take.
#include "kernels/opencl/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/kernel.h"
#include "kernels/opencl/opencl_backend.h"
#include "ops/op.h"
#include "tests/kernels/case_groups.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {
namespace {

bool IsTaken(const ir::Graph& group, const Device& device) {
  const auto kernels = OpenClKernels();
  return std::any_of(kernels.begin(), kernels.end(), [&](const KernelDesc* kernel) {
    return CandidatesOf(*kernel, group, device).ok();
  });
}

TEST(OpenClOperatorsTest, AreThoseOfTheCasesThatKernelsTake) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  std::set<std::string> taken;
  for (const ops::Case& test : ops::AllCases()) {
    EvaluatedCase shapes{ops::Parse(test.graph).value(), {}};
    if (!ops::InferGraph(shapes.graph).ok()) continue;  // shapes that depend on data
    shapes.values.resize(shapes.graph.values().size());
    for (size_t i = 0; i < shapes.graph.nodes().size(); ++i) {
      const CaseGroup group = MakeGroup(shapes, i, i + 1);
      if (IsTaken(*group.graph, **device)) taken.insert(std::string(shapes.graph.nodes()[i].op));
    }
  }
  const auto documented = OpenClOperators();
  EXPECT_THAT(std::vector<std::string>(documented.begin(), documented.end()),
              testing::ElementsAreArray(taken));
}

}  // namespace
}  // namespace fettle::kernels
