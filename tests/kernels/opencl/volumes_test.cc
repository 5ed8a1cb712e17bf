// Convolutions over three axes by matrix instructions, and those of row-major tensors, whose
// filters may be computed or transposed, against the oracle.
#include "tests/kernels/opencl/mma_device.h"
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvMma, kOpenClConvMmaF32;
extern const KernelDesc kOpenClConvMmaBlocks, kOpenClConvMmaBlocksF32;
extern const KernelDesc kOpenClConvWinogradMma, kOpenClConvWinogradMmaF32;
extern const KernelDesc kOpenClConvGiven, kOpenClConvTransposeShuffle, kOpenClConvVolume;
extern const KernelDesc kOpenClResizeTaps;

namespace {

using OpenClVolumes = OpenClMma;

/// Taps that are whole tiles of k and not, more than 32 of them, pads and strides of each axis,
/// groups, planes that are all padding, what follows.
TEST_F(OpenClVolumes, ConvolutionsAgreeWithTheOracle) {
  constexpr std::string_view kVolumes[] = {
      "input %x: f32[2x32x4x5x6]\ninput %r: f32[2x40x4x5x6]\nconst %w: f32[40x32x3x3x3]\n"
      "const %b: f32[40]\n%c = Conv(%x, %w, %b) {pads=[1,1,1,1,1,1]}\n%s = Add(%c, %r)\n"
      "%y = Relu(%s)\noutput %y\n",
      "input %x: f32[1x20x5x7x6]\nconst %w: f32[24x20x2x4x5]\nconst %b: f32[24]\n"
      "%y = Conv(%x, %w, %b) {pads=[1,0,2,0,3,1], strides=[2,1,2], dilations=[1,2,1]}\noutput %y\n",
      "input %x: f32[1x64x5x4x6]\nconst %w: f32[32x64x1x1x1]\nconst %b: f32[32]\n"
      "%y = Conv(%x, %w, %b) {strides=[2,2,2]}\noutput %y\n",
      "input %x: f32[1x64x3x4x5]\nconst %w: f32[32x64x1x1x1]\n%y = Conv(%x, %w)\noutput %y\n",
      "input %x: f32[1x64x4x3x4]\nconst %w: f32[64x4x3x1x1]\n"
      "%y = Conv(%x, %w) {group=16, pads=[3,0,0,3,0,0]}\noutput %y\n"};
  for (const std::string_view group : kVolumes)
    for (const KernelDesc* kernel : {&kOpenClConvMma, &kOpenClConvMmaF32}) Check(*kernel, group);
  Check(kOpenClConvMma, kVolumes[0], {{"BM", 64}, {"WM", 32}, {"SPLIT", 3}});
}

/// Planes of taps inside and outside, of several images; output planes that no tap meets; planes
/// that are images; what follows; strides and dilations.
constexpr std::string_view kPlanes[] = {
    "input %x: f32[2x40x4x6x7]\ninput %r: f32[2x36x4x6x7]\nconst %w: f32[36x40x3x3x3]\n"
    "%c = Conv(%x, %w) {pads=[1,1,1,1,1,1]}\n%s = Add(%c, %r)\n%y = Relu(%s)\noutput %y\n",
    "input %x: f32[1x20x2x6x5]\nconst %w: f32[32x20x2x3x3]\nconst %b: f32[32]\n"
    "%y = Conv(%x, %w, %b) {pads=[3,1,1,3,1,1]}\noutput %y\n",
    "input %x: f32[2x32x3x7x9]\nconst %w: f32[24x32x1x3x3]\n"
    "%y = Conv(%x, %w) {pads=[0,1,1,0,1,1]}\noutput %y\n",
    "input %x: f32[1x33x5x7x6]\nconst %w: f32[20x33x3x3x2]\nconst %b: f32[20]\n"
    "%y = Conv(%x, %w, %b) {pads=[3,1,0,1,1,2], strides=[2,2,1], dilations=[2,1,2]}\noutput %y\n"};

/// Slices without a block, too.
TEST_F(OpenClVolumes, BlocksAgreeWithTheOracle) {
  for (const std::string_view group : kPlanes)
    for (const KernelDesc* kernel : {&kOpenClConvMmaBlocks, &kOpenClConvMmaBlocksF32})
      Check(*kernel, group);
  for (const size_t i : {0, 1})
    Check(kOpenClConvMmaBlocks, kPlanes[i],
          {{"TILE_H", 4}, {"TILE_W", 7}, {"SPLIT", 2}, {"STAGES", 3}});
  Check(kOpenClConvMmaBlocksF32, kPlanes[0],
        {{"TILE_H", 2}, {"TILE_W", 8}, {"SPLIT", 4}, {"BK", 64}, {"WK", 2}});
}

TEST_F(OpenClVolumes, PatchesAgreeWithTheOracle) {
  for (const size_t i : {0, 1, 2}) Check(kOpenClConvWinogradMma, kPlanes[i], {{"tile", 4}});
  Check(kOpenClConvWinogradMmaF32, kPlanes[0], {{"tile", 4}, {"SPLIT", 2}, {"STAGES", 3}});
  Check(kOpenClConvWinogradMmaF32, kPlanes[1], {{"tile", 2}});
}

/// Of f32 alone, where much is multiplied beside what the transforms move.
TEST_F(OpenClVolumes, PlansTakePatchesWhereTheySave) {
  const auto taste_of = [&](const KernelDesc& kernel, int channels, int planes, int extent) {
    ir::Graph parsed =
        ops::Parse(fmt::format("input %x: f32[1x{0}x8x{2}x{2}]\nconst %w: f32[{0}x{0}x{1}x3x3]\n"
                               "%y = Conv(%x, %w) {{pads=[0,1,1,0,1,1]}}\noutput %y\n",
                               channels, planes, extent))
            .value();
    EXPECT_TRUE(ops::InferGraph(parsed).ok());
    const auto match =
        MatchGroup(kernel, std::make_shared<const ir::Graph>(std::move(parsed)), *device_);
    return match.ok() ? (*match)->taste() : -1;
  };
  constexpr int kOfBlocks = 11;
  EXPECT_GT(taste_of(kOpenClConvWinogradMmaF32, 64, 3, 56), kOfBlocks);
  EXPECT_GT(taste_of(kOpenClConvWinogradMmaF32, 128, 1, 28), kOfBlocks);
  EXPECT_LT(taste_of(kOpenClConvWinogradMmaF32, 64, 1, 56), kOfBlocks);
  EXPECT_LT(taste_of(kOpenClConvWinogradMmaF32, 128, 3, 7), kOfBlocks);
  EXPECT_LT(taste_of(kOpenClConvWinogradMma, 64, 3, 56), kOfBlocks);
}

using OpenClResizeTaps = OneOpenClKernel<kOpenClResizeTaps>;

/// Lines, and volumes of which every axis has its own taps; what follows; axes that stay.
TEST_F(OpenClResizeTaps, AgreeWithTheOracleOfOneAxisAndOfThree) {
  for (const std::string_view mode :
       {"mode=\"linear\"", "mode=\"nearest\"", "mode=\"cubic\"", "antialias=1, mode=\"linear\""}) {
    Check(fmt::format("input %x: f32[2x6x9]\nconst %s: i64[3] = 2 6 13\n"
                      "%y = Resize(%x, _, _, %s) {{{}}}\noutput %y\n",
                      mode),
          4);
    Check(
        fmt::format("input %x: f32[2x5x3x4x6]\nconst %s: i64[5] = 2 5 5 7 4\n"
                    "%r = Resize(%x, _, _, %s) {{{}}}\n%y = Relu(%r)\noutput %y\n",
                    mode));
  }
  Check(
      "input %x: f32[1x4x3x4x6]\nconst %s: f32[5] = 1 1 2 1 2\n"
      "%y = Resize(%x, _, %s) {coordinate_transformation_mode=\"align_corners\", "
      "mode=\"linear\"}\noutput %y\n");
  EXPECT_EQ(RefusalOf("input %x: f32[1x4x3x4x6]\nconst %s: f32[5] = 1 2 2 1 2\n"
                      "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"),
            "an axis outside of the plane is resized");
}

/// Every number of work-items that share an output.
constexpr int kSlices[] = {0, 1, 4, 16};

using OpenClVolumeTiles = OneOpenClKernel<kOpenClConvVolume>;
using OpenClGivenFilters = OneOpenClKernel<kOpenClConvGiven>;
using OpenClShuffledPhases = OneOpenClKernel<kOpenClConvTransposeShuffle>;

TEST_F(OpenClVolumeTiles, AgreeWithTheOracle) {
  for (const int slices : kSlices)
    Check(
        "input %x: f32[2x10x3x4x5]\nconst %w: f32[38x5x2x3x3]\nconst %b: f32[38]\n"
        "%c = Conv(%x, %w, %b) {group=2, pads=[1,1,0,0,1,1]}\n%y = Relu(%c)\noutput %y\n",
        2, {{"slices", slices}, {"channel_quads", 1}});
  Check("input %x: f32[1x9x3x4x5]\nconst %w: f32[70x9x3x3x3]\n%y = Conv(%x, %w)\noutput %y\n", 2,
        {{"slices", 4}, {"channel_quads", 2}});
}

/// One to three axes, groups, a channel each, a computed bias beside constant weights.
TEST_F(OpenClGivenFilters, AgreeWithTheOracle) {
  constexpr std::string_view kGroups[] = {
      "input %x: f32[2x21x7x9]\ninput %w: f32[37x21x3x3]\ninput %b: f32[37]\ninput %r: "
      "f32[2x37x4x9]\n"
      "%c = Conv(%x, %w, %b) {pads=[1,1,1,1], strides=[2,1]}\n%s = Add(%c, %r)\n%y = Relu(%s)\n"
      "output %y\n",
      "input %x: f32[1x12x33]\ninput %w: f32[8x3x5]\n"
      "%y = Conv(%x, %w) {group=4, dilations=[2], pads=[4,3]}\noutput %y\n",
      "input %x: f32[1x19x6x7]\ninput %w: f32[19x1x3x3]\nconst %b: f32[19]\n"
      "%y = Conv(%x, %w, %b) {group=19, pads=[1,1,1,1]}\noutput %y\n",
      "input %x: f32[1x5x3x4x6]\nconst %w: f32[18x5x2x2x2]\ninput %b: f32[18]\n"
      "%y = Conv(%x, %w, %b)\noutput %y\n"};
  for (const std::string_view group : kGroups)
    for (const int slices : kSlices) Check(group, 2, {{"slices", slices}, {"channel_quads", 1}});
  EXPECT_EQ(RefusalOf("input %x: f32[1x2x3x3]\nconst %w: f32[2x2x1x1]\n%y = Conv(%x, %w)\n"
                      "output %y\n"),
            "weights and bias are constant");
}

/// Windows that overlap, meet and leave gaps; three axes; long strides of one axis; borders that
/// cut; groups.
TEST_F(OpenClShuffledPhases, AgreeWithTheOracle) {
  constexpr std::string_view kGroups[] = {
      "input %x: f32[2x20x5x6]\nconst %w: f32[20x9x4x4]\nconst %b: f32[9]\ninput %r: "
      "f32[2x9x10x12]\n"
      "%c = ConvTranspose(%x, %w, %b) {pads=[1,1,1,1], strides=[2,2]}\n%s = Add(%c, %r)\n"
      "%y = Relu(%s)\noutput %y\n",
      "input %x: f32[1x6x3x4x5]\nconst %w: f32[6x5x2x2x2]\nconst %b: f32[5]\n"
      "%y = ConvTranspose(%x, %w, %b) {strides=[2,2,2]}\noutput %y\n",
      "input %x: f32[1x8x3x3x4]\nconst %w: f32[8x3x3x4x3]\n%y = ConvTranspose(%x, %w) "
      "{group=2, strides=[2,1,3], pads=[1,2,0,0,1,1], output_padding=[1,0,2]}\noutput %y\n",
      "input %x: f32[1x18x7]\nconst %w: f32[18x2x160]\n%y = ConvTranspose(%x, %w) {strides=[160]}\n"
      "output %y\n",
      "input %x: f32[1x18x9]\nconst %w: f32[18x3x9]\n"
      "%y = ConvTranspose(%x, %w) {strides=[5], pads=[7,6], dilations=[2]}\noutput %y\n"};
  for (const std::string_view group : kGroups)
    for (const int slices : kSlices) Check(group, 2, {{"slices", slices}, {"channel_quads", 1}});
  EXPECT_EQ(RefusalOf("input %x: f32[1x2x3x3]\nconst %w: f32[2x2x1x1]\n"
                      "%y = ConvTranspose(%x, %w) {strides=[5,5]}\noutput %y\n"),
            "strides or dilations that leave most taps empty");
}

}  // namespace
}  // namespace fettle::kernels
