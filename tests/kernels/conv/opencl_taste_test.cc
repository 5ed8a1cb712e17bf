// Which convolution kernel is taken before anything is measured, on a large GPU that is not here.
#include <gtest/gtest.h>

#include <string>

#include "device/opencl/paper_device.h"
#include "kernels/backend.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

/// An NVIDIA card, with or without matrix instructions.
std::shared_ptr<OpenClDevice> LargeGpu(bool has_instructions) {
  OpenClFacts facts;
  facts.name = "a large GPU";
  facts.family = "nvidia";
  facts.compute_units = 132;
  facts.max_work_group_size = 1024;
  facts.max_work_item_sizes = {1024, 1024, 64};
  facts.global_bytes = int64_t{80} << 30;
  facts.max_allocation_bytes = int64_t{20} << 30;
  facts.local_bytes = 48 * 1024;
  facts.local_memory_is_dedicated = true;
  facts.mma.available = has_instructions;
  facts.mma.local_bytes = has_instructions ? 200 * 1024 : 0;
  return OpenPaperDevice(facts).value();
}

/// The kernel with the most taste for a convolution of f32 buffers, and for what it is.
std::string UsualKernel(const Device& device, std::string_view x, std::string_view w,
                        std::string_view attributes = "") {
  const CaseGroup group = ParseGroup(
      fmt::format("input %x: f32[{}]\nconst %w: f32[{}]\n%y = Conv(%x, %w) {{{}}}\noutput %y\n", x,
                  w, attributes));
  std::string best;
  int most = 0;
  for (const KernelDesc* kernel : FindBackend(DeviceKind::kOpenCl)->kernels()) {
    if (kernel->arithmetic != Arithmetic::kF32) continue;
    const auto match = MatchGroup(*kernel, group.graph, device);
    if (!match.ok() || (*match)->taste() <= most) continue;
    const auto& states = (*match)->states();
    const bool keeps_floats = std::ranges::any_of(
        states, [](const StateAssignment& one) { return one.outputs[0].storage == DType::kF32; });
    if (!keeps_floats) continue;
    most = (*match)->taste();
    best = kernel->name;
  }
  return best;
}

TEST(ConvTaste, FewChannelsGoToMatrixInstructionsToo) {
  const auto device = LargeGpu(true);
  EXPECT_EQ(UsualKernel(*device, "1x96x1x1", "24x96x1x1"), "opencl.conv.mma.f32");
  EXPECT_EQ(UsualKernel(*device, "1x64x30x40", "8x64x1x1"), "opencl.conv.mma.f32");
  EXPECT_EQ(UsualKernel(*device, "1x8x30x40", "16x8x3x3", "pads=[1,1,1,1]"),
            "opencl.conv.mma.window.f32");
  EXPECT_EQ(UsualKernel(*device, "1x12x30x40", "12x12x3x3", "pads=[1,1,1,1]"),
            "opencl.conv.mma.window.f32");
  EXPECT_EQ(UsualKernel(*device, "1x256x14x14", "64x256x1x1"), "opencl.conv.mma.f32");
}

TEST(ConvTaste, WithoutThemTilesInLocalMemoryDo) {
  const auto device = LargeGpu(false);
  EXPECT_EQ(UsualKernel(*device, "1x96x1x1", "24x96x1x1"), "opencl.conv.local");
  EXPECT_EQ(UsualKernel(*device, "1x8x30x40", "16x8x3x3", "pads=[1,1,1,1]"), "opencl.conv.local");
  EXPECT_EQ(UsualKernel(*device, "1x6x30x40", "4x6x3x3", "pads=[1,1,1,1]"), "opencl.conv.direct");
}

}  // namespace
}  // namespace fettle::kernels
