// opencl.conv.separable and opencl.conv.depthwise against the oracle: tiles of every kind, edges
// and refusals.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvDepthwise;
extern const KernelDesc kOpenClConvSeparable;

namespace {

/// Strides, pads and dilations, channels that fill no quad, one column, a residual, bounds of one
/// side, of both, in the wrong order and none; several pictures.
constexpr std::string_view kSeparables[] = {
    "input %x: f32[2x19x7x6]\nconst %w: f32[19x1x3x3]\nconst %b: f32[19]\n"
    "const %v: f32[23x19x1x1]\nconst %c: f32[23]\n"
    "%f = Conv(%x, %w, %b) {group=19, pads=[1,0,1,2], strides=[2,1]}\n%r = Relu(%f)\n"
    "%y = Conv(%r, %v, %c)\noutput %y\n",
    "input %x: f32[1x32x9x7]\ninput %s: f32[1x12x9x7]\nconst %w: f32[32x1x5x3]\n"
    "const %v: f32[12x32x1x1]\nconst %l: f32[] = -0.5\nconst %h: f32[] = 0.5\n"
    "%f = Conv(%x, %w) {group=32, pads=[4,1,4,1], dilations=[2,1]}\n%r = Clip(%f, %l, %h)\n"
    "%p = Conv(%r, %v)\n%a = Add(%p, %s)\n%y = Relu(%a)\noutput %y\n",
    "input %x: f32[1x5x1x1]\nconst %w: f32[5x1x1x1]\nconst %v: f32[3x5x1x1]\n"
    "const %l: f32[] = 2.0\nconst %h: f32[] = 1.0\n%f = Conv(%x, %w) {group=5}\n"
    "%r = Clip(%f, %l, %h)\n%y = Conv(%r, %v)\noutput %y\n",
    "input %x: f32[1x70x13x1]\nconst %w: f32[70x1x3x1]\nconst %b: f32[70]\n"
    "const %v: f32[130x70x1x1]\nconst %l: f32[] = 0.25\n"
    "%f = Conv(%x, %w, %b) {group=70, pads=[1,0,1,0], strides=[3,1]}\n%r = Clip(%f, %l)\n"
    "%s = Relu(%r)\n%y = Conv(%s, %v)\noutput %y\n",
    "input %x: f32[2x9x21]\nconst %w: f32[9x1x3]\nconst %v: f32[8x9x1]\nconst %c: f32[8]\n"
    "%f = Conv(%x, %w) {group=9, pads=[1,1]}\n%y = Conv(%f, %v, %c)\noutput %y\n"};

class OpenClSeparable : public OnOpenCl {
 protected:
  /// In each state: f32 and f16, buffers and images.
  void Check(std::string_view text, const Params& changes = {}) {
    const CaseGroup group = ParseGroup(text);
    const auto candidates = CandidatesOf(kOpenClConvSeparable, *group.graph, *device_);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    ASSERT_GE(candidates->size(), 2U);
    for (const StateAssignment& states : *candidates) {
      KernelRun run{kOpenClConvSeparable, group, {group.graph, states, 1}, {}, ""};
      run.params = DefaultParams(kOpenClConvSeparable, run.problem, *device_);
      for (const auto& [name, value] : changes) run.params[name] = value;
      const Status valid = SpaceOf(kOpenClConvSeparable, run.problem, *device_).check(run.params);
      ASSERT_TRUE(valid.ok()) << valid.message();
      EXPECT_TRUE(CheckRun(run, *device_));
    }
  }

  std::string RefusalOf(std::string_view text) {
    return CandidatesOf(kOpenClConvSeparable, *ParseGroup(text).graph, *device_).status().message();
  }
};

TEST_F(OpenClSeparable, AgreesWithTheOracle) {
  for (const std::string_view group : kSeparables) Check(group);
}

TEST_F(OpenClSeparable, OtherTilesDoToo) {
  Check(kSeparables[0], {{"pixels", 8}, {"pixel_item", 2}, {"oc_quads", 4}, {"slices", 4}});
  Check(kSeparables[0], {{"pixels", 1}, {"pixel_item", 1}, {"oc_quads", 2}, {"slices", 32}});
  Check(kSeparables[3], {{"pixels", 64}, {"pixel_item", 8}, {"oc_quads", 16}, {"slices", 1}});
  Check(kSeparables[3], {{"pixels", 2}, {"pixel_item", 2}, {"oc_quads", 24}, {"slices", 2}});
}

TEST_F(OpenClSeparable, RefusesWhatItCannotCompute) {
  const std::string before =
      "input %x: f32[1x8x5x5]\nconst %w: f32[8x1x3x3]\nconst %v: f32[4x8x1x1]\n"
      "%f = Conv(%x, %w) {group=8, pads=[1,1,1,1]}\n";
  EXPECT_EQ(RefusalOf(before + "%g = Sigmoid(%f)\n%y = Conv(%g, %v)\noutput %y\n"),
            "Sigmoid between the convolutions");
  EXPECT_EQ(RefusalOf(before + "%y = Relu(%f)\noutput %y\n"), "no 1x1 convolution follows");
  EXPECT_EQ(RefusalOf("input %x: f32[1x8x5x5]\nconst %w: f32[8x1x3x3]\nconst %v: f32[4x8x2x2]\n"
                      "%f = Conv(%x, %w) {group=8}\n%y = Conv(%f, %v)\noutput %y\n"),
            "not a 1x1 convolution of every pixel");
}

TEST_F(OpenClSeparable, TilesThatDoNotFitAreRefused) {
  const CaseGroup group = ParseGroup(kSeparables[0]);
  const auto states = CandidatesOf(kOpenClConvSeparable, *group.graph, *device_).value();
  const Problem problem{group.graph, states.front(), 1};
  const ParamSpace space = SpaceOf(kOpenClConvSeparable, problem, *device_);
  Params params = space.usual;
  params["pixels"] = 4;
  params["pixel_item"] = 8;
  EXPECT_EQ(space.check(params).message(), "pixel_item: 4 pixels are not cut evenly");
  params = {{"pixels", 64}, {"pixel_item", 1}, {"oc_quads", 32}, {"slices", 32}};
  EXPECT_NE(space.check(params).message().find("65536 work-items"), std::string::npos);
}

using OpenClDepthwise = OneOpenClKernel<kOpenClConvDepthwise>;

/// A filter for each of nine channels.
std::string Depthwise(std::string_view kernel, std::string_view attributes) {
  return fmt::format(
      "input %x: f32[2x9x7x11]\nconst %w: f32[9x1x{}]\nconst %b: f32[9]\n"
      "%f = Conv(%x, %w, %b) {{group=9, {}}}\n%y = Relu(%f)\noutput %y\n",
      kernel, attributes);
}

TEST_F(OpenClDepthwise, TilesOfRowsThatReadPixelsOnceAgreeWithTheOracle) {
  Check(Depthwise("3x3", "pads=[1,1,1,1]"), 4, {{"columns", 1}, {"rows", 4}, {"step", 1}});
  Check(Depthwise("5x3", "pads=[0,2,3,1], strides=[2,2]"), 4,
        {{"columns", 2}, {"rows", 2}, {"step", 2}});
  Check(Depthwise("7x7", "pads=[3,3,3,3]"), 4, {{"columns", 1}, {"rows", 2}, {"step", 1}});
  Check(Depthwise("3x2", "strides=[1,2], dilations=[2,1]"), 4,
        {{"columns", 1}, {"rows", 4}, {"step", 0}});
}

TEST_F(OpenClDepthwise, RefusesStepsThatAreNotItsStrides) {
  const auto refusal = [this](std::string_view attributes, int64_t step) {
    const CaseGroup group = ParseGroup(Depthwise("3x3", attributes));
    const auto states = CandidatesOf(kOpenClConvDepthwise, *group.graph, *device_).value();
    const ParamSpace space =
        SpaceOf(kOpenClConvDepthwise, {group.graph, states.front(), 1}, *device_);
    Params params = space.usual;
    params["step"] = step;
    return space.check(params).message();
  };
  EXPECT_EQ(refusal("strides=[2,2]", 2), "");
  EXPECT_EQ(refusal("strides=[2,2]", 1), "step: expected 0 or 2, got 1");
  EXPECT_EQ(refusal("strides=[2,1]", 2), "step: expected 0, got 2");
  EXPECT_EQ(refusal("dilations=[1,2]", 1), "step: expected 0, got 1");
}

}  // namespace
}  // namespace fettle::kernels
