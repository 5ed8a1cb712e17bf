// opencl.move.concat against the oracle: more operands than a launch takes, constants, pixels.
#include <gtest/gtest.h>

#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClMoveConcat;

namespace {

class OpenClConcat : public testing::Test {
 protected:
  void SetUp() override {
    const auto& device = TestOpenClDevice();
    if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
    device_ = device->get();
  }

  void Check(std::string_view text, size_t states) {
    const CaseGroup group = ParseGroup(text);
    const auto candidates = CandidatesOf(kOpenClMoveConcat, *group.graph, *device_);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    ASSERT_EQ(candidates->size(), states);
    for (const StateAssignment& states : *candidates)
      EXPECT_TRUE(CheckRun({kOpenClMoveConcat, group, {group.graph, states, 1}, {}, ""}, *device_));
  }

  const OpenClDevice* device_ = nullptr;
};

TEST_F(OpenClConcat, JoinsMoreThanOneLaunchTakes) {
  constexpr int kParts = 150;
  std::string text, parts;
  for (int i = 0; i < kParts; ++i) {
    text += fmt::format("input %x{}: f32[2x{}x3]\n", i, 1 + i % 3);
    parts += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  Check(text + "%y = Concat(" + parts + ") {axis=1}\noutput %y\n", 2);
}

TEST_F(OpenClConcat, JoinsWordsOfSeveralElements) {
  Check("input %x: i64[3x2]\ninput %z: i64[3x4]\n%y = Concat(%x, %z) {axis=-1}\noutput %y\n", 1);
}

TEST_F(OpenClConcat, KeepsPixelsWhereChannelsAreQuads) {
  Check("input %x: f32[2x8x3x5]\ninput %z: f32[2x3x3x5]\n%y = Concat(%x, %z) {axis=1}\noutput %y\n",
        4);
  Check("input %x: f32[2x6x3x5]\ninput %z: f32[2x6x3x2]\n%y = Concat(%x, %z) {axis=3}\noutput %y\n",
        4);
  Check("input %x: f32[2x6x3x5]\ninput %z: f32[2x4x3x5]\n%y = Concat(%x, %z) {axis=1}\noutput %y\n",
        2);
}

}  // namespace
}  // namespace fettle::kernels
