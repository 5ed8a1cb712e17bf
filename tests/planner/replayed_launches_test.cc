// A driver that replays launches on buffers alone: plans keep their tensors out of images.
#include <gtest/gtest.h>

#include "ops/op.h"
#include "planner/choices.h"
#include "tensor/layout.h"
#include "tests/asked_device.h"

namespace fettle::planner {
namespace {

State In(MemoryKind memory, std::string_view layout) {
  return {.device = DeviceKind::kOpenCl,
          .memory = memory,
          .layout = *LayoutFromName(layout, 4),
          .storage = DType::kF32};
}

std::string Refused(bool replays, MemoryKind wanted, const State& state) {
  ir::Graph graph = ops::Parse("input %x: f32[1x4x8x8]\n%y = Relu(%x)\noutput %y\n").value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const kernels::StateAssignment states{.inputs = {state}, .outputs = {state}};
  return RefusalOf(states, graph, AskedDevice(replays),
                   {.preferred = DeviceKind::kOpenCl, .memory = wanted});
}

TEST(ReplayedLaunches, AreThoseOnBuffers) {
  const State image = In(MemoryKind::kImage2d, "NC4HW4"),
              buffer = In(MemoryKind::kBuffer, "NCHW4c");
  EXPECT_EQ(Refused(true, MemoryKind::kHost, image),
            "the driver replays no launch on images (--memory image allows them)");
  EXPECT_EQ(Refused(true, MemoryKind::kHost, buffer), "");
  EXPECT_EQ(Refused(false, MemoryKind::kHost, image), "");
}

TEST(ReplayedLaunches, AreGivenUpWhereImagesAreAskedFor) {
  const State image = In(MemoryKind::kImage2d, "NC4HW4");
  EXPECT_EQ(Refused(true, MemoryKind::kImage2d, image), "");
  EXPECT_EQ(Refused(true, MemoryKind::kBuffer, image), "images are switched off");
}

}  // namespace
}  // namespace fettle::planner
