// Where cpu.move needs no copy: the first candidate of a node is a view.
#include <gtest/gtest.h>

#include "ops/op.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuMove;

namespace {

/// "NHWC > row @64" for the first candidate: layouts of input and output, and the view's offset.
std::string FirstCandidate(std::string_view text) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  auto graph = std::make_shared<ir::Graph>(ops::Parse(text).value());
  EXPECT_TRUE(ops::InferGraph(*graph).ok());
  const auto candidates = CandidatesOf(kCpuMove, *graph, device);
  if (!candidates.ok()) return candidates.status().message();
  const StateAssignment& states = (*candidates)[0];
  std::string result =
      LayoutName(states.inputs[0].layout, graph->value(graph->inputs[0]).shape->rank()) + " > " +
      LayoutName(states.outputs[0].layout, graph->value(graph->outputs[0]).shape->rank());
  const auto prepared = PrepareKernel(kCpuMove, {graph, states, 1}, {}, device);
  for (const Alias& alias : (*prepared)->aliases())
    result += fmt::format(" @{}", alias.byte_offset);
  return result;
}

TEST(MoveView, ReshapesShareTheirBytes) {
  EXPECT_EQ(FirstCandidate("input %x: f32[2x3x4x5]\nconst %s: i64[2] = 6 20\n"
                           "%y = Reshape(%x, %s)\noutput %y\n"),
            "row > row @0");
  EXPECT_EQ(FirstCandidate("input %x: f32[2x3x4x5]\n%y = Flatten(%x)\noutput %y\n"),
            "row > row @0");
}

TEST(MoveView, TransposesThatRenameTheLayout) {
  EXPECT_EQ(FirstCandidate("input %x: f32[2x4x5x3]\n%y = Transpose(%x) {perm=[0,3,1,2]}\n"
                           "output %y\n"),
            "row > NHWC @0");
  EXPECT_EQ(FirstCandidate("input %x: f32[2x3x4x5]\n%y = Transpose(%x) {perm=[0,2,3,1]}\n"
                           "output %y\n"),
            "NHWC > row @0");
  EXPECT_EQ(FirstCandidate("input %x: f32[1x1x4x5]\n%y = Transpose(%x) {perm=[0,2,1,3]}\n"
                           "output %y\n"),
            "row > row @0");
}

TEST(MoveView, AlignedWindows) {
  EXPECT_EQ(FirstCandidate("input %x: f32[1x8x4x4]\n%y, %z = Split(%x) {axis=1}\noutput %y\n"
                           "output %z\n"),
            "row > row @0 @256");
  EXPECT_EQ(FirstCandidate("input %x: f32[4x3x5]\nconst %s: i64[1] = 1\nconst %e: i64[1] = 3\n"
                           "%y = Slice(%x, %s, %e)\noutput %y\n"),
            "row > row");  // 60 bytes in: not aligned
}

}  // namespace
}  // namespace fettle::kernels
