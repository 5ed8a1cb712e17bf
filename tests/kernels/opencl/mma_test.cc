// Kernels of matrix instructions on an OpenCL device, the instructions
// emulated where it has none, against the oracle within what storing f16 may
// cost; and what a device without them says.
#include "kernels/opencl/probe/mma.h"

#include <gtest/gtest.h>

#include <map>

#include "kernels/backend.h"
#include "kernels/opencl/probe/probe.h"
#include "tests/kernels/opencl/mma_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvMma, kOpenClConvMmaBlocks, kOpenClConvMmaWindow,
    kOpenClMatMulMma;
extern const KernelDesc kOpenClConvMmaTf32, kOpenClMatMulMmaBFloat, kOpenClMatMulMmaTf32;
extern const KernelDesc kOpenClConvMmaF32, kOpenClConvMmaBlocksF32, kOpenClConvMmaWindowF32,
    kOpenClMatMulMmaF32;
extern const KernelDesc kOpenClConvWinogradMma, kOpenClConvWinogradMmaF32;
extern const KernelDesc kOpenClQuantisedConvMma, kOpenClQuantisedMatMulMma;

namespace {

/// Products of f16 with what may follow them: of one tile and several, with and
/// without edges, of each order of rows and columns; rows at multiples of 16
/// bytes but in the last six.
constexpr std::string_view kMmaGroups[] = {
    "input %a: f32[32x64]\ninput %b: f32[64x64]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[37x72]\nconst %b: f32[53x72]\nconst %c: f32[53]\n"
    "%g = Gemm(%a, %b, %c) {transB=1}\n%y = Relu(%g)\noutput %y\n",
    "input %a: f32[72x40]\ninput %b: f32[56x72]\ninput %c: f32[40x56]\n"
    "%y = Gemm(%a, %b, %c) {alpha=0.5, beta=2.0, transA=1, transB=1}\noutput "
    "%y\n",
    "input %a: f32[2x2x5x24]\ninput %b: f32[2x24x8]\n%y = MatMul(%a, "
    "%b)\noutput %y\n",
    "input %a: f32[35x67]\ninput %b: f32[67x45]\n%y = MatMul(%a, %b)\noutput "
    "%y\n",
    "input %a: f32[3x2x19x23]\ninput %b: f32[2x23x9]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[33x37]\ninput %b: f32[48x33]\ninput %c: f32[37x48]\n"
    "%y = Gemm(%a, %b, %c) {transA=1, transB=1}\noutput %y\n",
    "input %a: f32[24x64]\ninput %b: f32[64x21]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[37x67]\nconst %b: f32[67x45]\n%y = MatMul(%a, %b)\noutput %y\n"};

/// The same of bf16.
constexpr std::string_view kBFloatGroups[] = {
    "input %a: bf16[32x64]\ninput %b: bf16[64x64]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: bf16[37x72]\nconst %b: bf16[53x72]\nconst %c: bf16[53]\n"
    "%g = Gemm(%a, %b, %c) {transB=1}\n%y = Relu(%g)\noutput %y\n",
    "input %a: bf16[72x40]\ninput %b: bf16[56x72]\ninput %c: bf16[40x56]\n"
    "%y = Gemm(%a, %b, %c) {alpha=0.5, beta=2.0, transA=1, transB=1}\noutput %y\n",
    "input %a: bf16[35x67]\ninput %b: bf16[67x45]\n%y = MatMul(%a, %b)\noutput %y\n"};

/// Strides, pads and channels that fill no piece; taps that are whole tiles,
/// and a tail; one pixel for one, beside a tile in full.
constexpr std::string_view kMmaConvolutions[] = {
    "input %x: f32[2x19x7x6]\nconst %w: f32[23x19x3x3]\nconst %b: f32[23]\n"
    "%y = Conv(%x, %w, %b) {pads=[1,0,1,2], strides=[2,1], "
    "dilations=[1,2]}\noutput %y\n",
    "input %x: f32[1x32x6x7]\ninput %r: f32[1x36x6x7]\nconst %w: "
    "f32[36x32x3x3]\n"
    "%c = Conv(%x, %w) {pads=[1,1,1,1]}\n%s = Add(%c, %r)\n%y = "
    "Relu(%s)\noutput %y\n",
    "input %x: f32[1x40x5x9]\nconst %w: f32[35x40x1x1]\nconst %b: f32[35]\n"
    "%y = Conv(%x, %w, %b)\noutput %y\n",
    "input %x: f32[2x32x9x8]\nconst %w: f32[32x32x3x3]\nconst %b: f32[32]\n"
    "%y = Conv(%x, %w, %b) {pads=[2,0,1,2], strides=[2,3], dilations=[1,2]}\noutput %y\n",
    "input %x: f32[1x32x9x8]\nconst %w: f32[20x32x1x1]\n"
    "%y = Conv(%x, %w) {strides=[2,2]}\noutput %y\n"};

/// Bytes with and without signs, to bytes, to floats, to bytes that others are added to, and to
/// sums; borders of a zero point that is computed or not, strides, dilations, several images;
/// channels that fill no piece; one tap of whole tiles.
constexpr std::string_view kByteConvolutions[] = {
    "input %x: u8[2x19x7x6] = noise(0, 255)\nconst %w: i8[23x19x3x3] = noise(-127, 127)\n"
    "const %sx: f32[] = 0.02\nconst %zx: u8[] = 121\nconst %sw: f32[23] = noise(0.001, 0.01)\n"
    "const %zw: i8[23] = splat 0\nconst %b: f32[23]\nconst %sy: f32[] = 0.3\n"
    "const %zy: u8[] = 100\n"
    "%dx = DequantizeLinear(%x, %sx, %zx)\n%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n"
    "%c = Conv(%dx, %dw, %b) {pads=[1,0,1,2], strides=[2,1], dilations=[1,2]}\n"
    "%r = Relu(%c)\n%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n",
    "input %x: i8[1x64x5x9] = noise(-128, 127)\nconst %w: i8[33x64x1x1] = noise(-128, 127)\n"
    "const %sx: f32[] = 0.02\nconst %zx: i8[] = -9\nconst %sw: f32[] = 0.01\n"
    "%dx = DequantizeLinear(%x, %sx, %zx)\n%dw = DequantizeLinear(%w, %sw)\n"
    "%c = Conv(%dx, %dw)\n%y = Sigmoid(%c)\noutput %y\n",
    "input %x: u8[2x32x5x9] = noise(0, 255)\ninput %r: i8[2x35x5x9] = noise(-128, 127)\n"
    "const %w: i8[35x32x1x1] = noise(-127, 127)\nconst %sx: f32[] = 0.02\nconst %zx: u8[] = 121\n"
    "const %sw: f32[35] = noise(0.001, 0.01)\nconst %zw: i8[35] = splat 0\nconst %b: f32[35]\n"
    "const %so: f32[] = 0.11\nconst %zo: u8[] = 130\nconst %sr: f32[] = 0.07\nconst %zr: i8[] = "
    "-5\n"
    "const %sy: f32[] = 0.09\nconst %zy: u8[] = 3\n"
    "%dx = DequantizeLinear(%x, %sx, %zx)\n%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n"
    "%c = Conv(%dx, %dw, %b)\n%o = QuantizeLinear(%c, %so, %zo)\n"
    "%do = DequantizeLinear(%o, %so, %zo)\n%dr = DequantizeLinear(%r, %sr, %zr)\n"
    "%s = Add(%dr, %do)\n%p = Relu(%s)\n%y = QuantizeLinear(%p, %sy, %zy)\noutput %y\n",
    "input %x: u8[1x35x7x9] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
    "const %w: i8[18x35x3x3] = noise(-9, 9)\n"
    "%y = ConvInteger(%x, %w, %z) {pads=[1,1,1,1]}\noutput %y\n"};

/// Rows that begin at multiples of 16 bytes and others, columns that fill no
/// vector, weights of both orders.
constexpr std::string_view kByteProducts[] = {
    "input %x: u8[37x96] = noise(0, 255)\nconst %w: i8[51x96] = noise(-127, 127)\n"
    "const %sx: f32[] = 0.02\nconst %zx: u8[] = 121\nconst %sw: f32[51] = noise(0.001, 0.01)\n"
    "const %zw: i8[51] = splat 0\nconst %b: f32[51]\nconst %sy: f32[] = 0.3\n"
    "const %zy: u8[] = 100\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
    "%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n%c = Gemm(%dx, %dw, %b) {transB=1}\n"
    "%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n",
    "input %x: u8[3x7x37] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
    "input %s: f32[] = noise(0.001, 0.01)\nconst %w: i8[37x22] = noise(-9, 9)\n"
    "const %b: f32[22]\n%c = MatMulInteger(%x, %w, %z)\n"
    "%f = Cast(%c) {to=\"f32\"}\n%m = Mul(%f, %s)\n%y = Add(%m, %b)\noutput %y\n",
    "input %x: i8[40x128] = noise(-128, 127)\nconst %w: i8[128x36] = noise(-128, 127)\n"
    "%y = MatMulInteger(%x, %w)\noutput %y\n",
    "input %x: i8[1x160] = noise(-128, 127)\nconst %w: i8[160x50] = noise(-128, 127)\n"
    "%y = MatMulInteger(%x, %w)\noutput %y\n"};

/// 15 tiles, most of them at edges, four of them one after the other.
constexpr std::string_view kTwentyChannels =
    "input %x: f32[2x20x9x37]\nconst %w: f32[20x20x3x3]\nconst %b: f32[20]\n"
    "%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}\noutput %y\n";
const Params kTilesOfTwenty = {{"TILE_H", 2}, {"TILE_W", 16}, {"BN", 32},
                               {"WM", 16},    {"WN", 32},     {"TILES", 4}};

TEST_F(OpenClMma, TheProbeRunsTheInstructions) {
  const Result<MmaFacts> probed = ProbeMma(*device_);
  ASSERT_TRUE(probed.ok()) << probed.status().message();
  EXPECT_TRUE(probed->available);
  EXPECT_TRUE(probed->warpgroups);
  EXPECT_TRUE(probed->byte_warpgroups);
}

TEST_F(OpenClMma, TheirCeilingsAreRatesOfOperations) {
  const auto ceilings = ProbeOpenCl(*device_, {.for_bounds = false, .only = " mma"});
  ASSERT_TRUE(ceilings.ok()) << ceilings.status().message();
  std::map<std::string, std::string> units;
  for (const Ceiling& ceiling : *ceilings) {
    EXPECT_TRUE(ceiling.status.ok()) << ceiling.name << ": " << ceiling.status.message();
    units.emplace(ceiling.name, ceiling.unit);
  }
  EXPECT_EQ(units, (std::map<std::string, std::string>{
                       {"f16 mma", "FLOP/s"}, {"int8 mma", "OP/s"}, {"tf32 mma", "FLOP/s"}}));
}

TEST_F(OpenClMma, ProductsAgreeWithTheOracle) {
  for (const std::string_view group : kMmaGroups) Check(kOpenClMatMulMma, group);
}

TEST_F(OpenClMma, ConvolutionsAgreeWithTheOracle) {
  for (const std::string_view group : kMmaConvolutions) Check(kOpenClConvMma, group);
}

/// Blocks of several groups and of one, with as many channels and more; a stride, and what follows.
TEST_F(OpenClMma, ConvolutionsInGroupsAgreeWithTheOracle) {
  constexpr std::string_view kGroups[] = {
      "input %x: f32[2x64x7x6]\nconst %w: f32[64x4x3x3]\nconst %b: f32[64]\n"
      "%c = Conv(%x, %w, %b) {group=16, pads=[1,1,1,1]}\n%y = Relu(%c)\noutput %y\n",
      "input %x: f32[1x32x9x5]\ninput %r: f32[1x64x5x3]\nconst %w: f32[64x16x3x3]\n"
      "%c = Conv(%x, %w) {group=2, pads=[1,1,1,1], strides=[2,2]}\n%y = Add(%c, %r)\noutput %y\n",
      "input %x: f32[1x48x4x5]\nconst %w: f32[96x8x1x1]\n"
      "%y = Conv(%x, %w) {group=6}\noutput %y\n",
      // No tile cuts these evenly: half a block at the end, across blocks, from within a quad on.
      "input %x: f32[2x48x5x6]\nconst %w: f32[48x8x3x3]\nconst %b: f32[48]\n"
      "%y = Conv(%x, %w, %b) {group=6, pads=[1,1,1,1]}\noutput %y\n",
      "input %x: f32[1x72x6x5]\nconst %w: f32[72x24x3x3]\n"
      "%y = Conv(%x, %w) {group=3, pads=[1,1,1,1], strides=[2,2]}\noutput %y\n",
      "input %x: f32[1x30x5x5]\nconst %w: f32[60x10x3x3]\n%y = Conv(%x, %w) {group=3}\noutput "
      "%y\n"};
  for (const std::string_view group : kGroups)
    for (const KernelDesc* kernel : {&kOpenClConvMma, &kOpenClConvMmaTf32, &kOpenClConvMmaF32})
      Check(*kernel, group);
  Check(kOpenClConvMma, kGroups[1], {{"BM", 64}, {"WM", 32}, {"SPLIT", 2}});
}

TEST_F(OpenClMma, GroupsThatMakeNoBlocksAreRefused) {
  const CaseGroup group = ParseGroup(
      "input %x: f32[1x32x5x5]\nconst %w: f32[32x1x3x3]\n%y = Conv(%x, %w) {group=32}\noutput "
      "%y\n");
  EXPECT_EQ(CandidatesOf(kOpenClConvMma, *group.graph, *device_).status().message(),
            "groups of 1 channels to 1: blocks of 32 outputs are mostly zero");
}

TEST_F(OpenClMma, ProductsOfTf32AgreeWithTheOracle) {
  for (const std::string_view group : kMmaGroups) Check(kOpenClMatMulMmaTf32, group);
}

TEST_F(OpenClMma, ProductsOfBFloatsAgreeWithTheOracle) {
  for (const std::string_view group : kBFloatGroups) Check(kOpenClMatMulMmaBFloat, group);
}

TEST_F(OpenClMma, OtherTypesAreNotStoredAsBFloat) {
  const CaseGroup group = ParseGroup(kMmaGroups[0]);
  EXPECT_EQ(CandidatesOf(kOpenClMatMulMmaBFloat, *group.graph, *device_).status().message(),
            "operands that are not bf16");
}

TEST_F(OpenClMma, ConvolutionsOfTf32AgreeWithTheOracle) {
  for (const std::string_view group : kMmaConvolutions) Check(kOpenClConvMmaTf32, group);
}

TEST_F(OpenClMma, ConvolutionsOfBytesAgreeWithTheOracle) {
  for (const std::string_view group : kByteConvolutions) Check(kOpenClQuantisedConvMma, group);
}

TEST_F(OpenClMma, ProductsOfBytesAgreeWithTheOracle) {
  for (const std::string_view group : kByteProducts) Check(kOpenClQuantisedMatMulMma, group);
}

/// Those, a first layer, an even and an odd number of pieces of eight channels, several tiles.
TEST_F(OpenClMma, ConvolutionsOfAWindowAgreeWithTheOracle) {
  for (const std::string_view group : kMmaConvolutions) Check(kOpenClConvMmaWindow, group);
  Check(kOpenClConvMmaWindow, kMmaConvolutions[0],
        {{"TILE_H", 2}, {"TILE_W", 8}, {"BN", 16}, {"WM", 16}, {"WN", 16}});
  Check(kOpenClConvMmaWindow,
        "input %x: f32[2x3x17x19]\nconst %w: f32[24x3x7x7]\nconst %b: f32[24]\n"
        "%c = Conv(%x, %w, %b) {pads=[3,3,3,3], strides=[2,2]}\n%y = Relu(%c)\noutput %y\n");
  Check(kOpenClConvMmaWindow, kTwentyChannels, kTilesOfTwenty);
  Check(kOpenClConvMmaWindow,
        "input %x: f32[1x1x12x9]\nconst %w: f32[4x1x3x3]\n"
        "%y = Conv(%x, %w) {pads=[1,1,1,1]}\noutput %y\n");
}

/// Blocks that are full and not, of a tile that fills its warps and not; slices of several blocks
/// and of one; warps that share the steps of a block.
TEST_F(OpenClMma, ConvolutionsByBlocksAgreeWithTheOracle) {
  for (const size_t i : {0, 1}) Check(kOpenClConvMmaBlocks, kMmaConvolutions[i]);
  constexpr std::string_view kThreeBlocks =
      "input %x: f32[2x72x9x8]\nconst %w: f32[36x72x3x3]\nconst %b: f32[36]\n"
      "%c = Conv(%x, %w, %b) {pads=[1,0,1,2], strides=[2,1], dilations=[1,2]}\n%y = Relu(%c)\n"
      "output %y\n";
  Params tile = {{"TILE_H", 2}, {"TILE_W", 7}, {"BN", 32},    {"BK", 32},  {"WM", 16},
                 {"WN", 16},    {"WK", 1},     {"STAGES", 4}, {"SPLIT", 2}};
  Check(kOpenClConvMmaBlocks, kThreeBlocks, tile);
  tile["SPLIT"] = 3;
  tile["STAGES"] = 2;
  Check(kOpenClConvMmaBlocks, kThreeBlocks, tile);
  tile["SPLIT"] = 1;
  tile["BK"] = 64;
  tile["WK"] = 2;
  tile["STAGES"] = 6;
  Check(kOpenClConvMmaBlocks, kThreeBlocks, tile);
}

/// Patches that fill an image and not, channels that fill chunks and tiles and not, of several
/// images, in slices and by warpgroups; what follows.
TEST_F(OpenClMma, ConvolutionsByPatchesAgreeWithTheOracle) {
  constexpr std::string_view kPatches[] = {
      "input %x: f32[2x20x9x7]\nconst %w: f32[23x20x3x3]\nconst %b: f32[23]\n"
      "%y = Conv(%x, %w, %b) {pads=[1,0,1,2]}\noutput %y\n",
      "input %x: f32[1x72x12x16]\ninput %r: f32[1x64x12x16]\nconst %w: f32[64x72x3x3]\n"
      "%c = Conv(%x, %w) {pads=[1,1,1,1]}\n%s = Add(%c, %r)\n%y = Relu(%s)\noutput %y\n"};
  Params warpgroups = {{"BM", 64}, {"BN", 64},    {"BK", 64},   {"WM", 16},       {"WN", 64},
                       {"WK", 1},  {"STAGES", 3}, {"SPLIT", 1}, {"WARPGROUPS", 1}};
  for (const int tile : {2, 4}) {
    for (const KernelDesc* kernel : {&kOpenClConvWinogradMma, &kOpenClConvWinogradMmaF32}) {
      for (const std::string_view group : kPatches) Check(*kernel, group, {{"tile", tile}});
      Check(*kernel, kPatches[1], {{"tile", tile}, {"SPLIT", 2}, {"STAGES", 3}});
    }
    warpgroups["tile"] = tile;
    Check(kOpenClConvWinogradMma, kPatches[1], warpgroups);
  }
}

/// Of f32 alone, and where much is multiplied; pictures of few patches are cut to smaller ones.
TEST_F(OpenClMma, PlansTakePatchesWhereTheySave) {
  const auto taste_of = [&](const KernelDesc& kernel, int ic, int oc, int extent, int tile) {
    ir::Graph parsed =
        ops::Parse(fmt::format("input %x: f32[1x{0}x{1}x{1}]\nconst %w: f32[{2}x{0}x3x3]\n"
                               "%y = Conv(%x, %w) {{pads=[1,1,1,1]}}\noutput %y\n",
                               ic, extent, oc))
            .value();
    EXPECT_TRUE(ops::InferGraph(parsed).ok());
    const auto graph = std::make_shared<const ir::Graph>(std::move(parsed));
    const auto match = MatchGroup(kernel, graph, *device_);
    const auto states = CandidatesOf(kernel, *graph, *device_);
    if (!match.ok() || !states.ok()) return -1;
    EXPECT_EQ(DefaultParams(kernel, {graph, states->front(), 1}, *device_).at("tile"), tile);
    return (*match)->taste();
  };
  constexpr int kOfBlocks = 11;
  EXPECT_GT(taste_of(kOpenClConvWinogradMmaF32, 256, 512, 28, 4), kOfBlocks);
  EXPECT_GT(taste_of(kOpenClConvWinogradMmaF32, 512, 512, 14, 2), kOfBlocks);
  EXPECT_LT(taste_of(kOpenClConvWinogradMmaF32, 256, 256, 14, 2), kOfBlocks);
  EXPECT_LT(taste_of(kOpenClConvWinogradMmaF32, 512, 512, 7, 2), kOfBlocks);
  EXPECT_LT(taste_of(kOpenClConvWinogradMmaF32, 128, 128, 112, 4), kOfBlocks);
  EXPECT_LT(taste_of(kOpenClConvWinogradMma, 512, 512, 28, 4), kOfBlocks);
}

/// Three products of two parts of each factor keep f32, within its own tolerance.
TEST_F(OpenClMma, PartsOfF32AgreeWithTheOracle) {
  for (const size_t i : {1, 2}) Check(kOpenClMatMulMmaF32, kMmaGroups[i]);
  Check(kOpenClMatMulMmaF32, kMmaGroups[1], {{"BK", 64}, {"WK", 2}, {"SPLIT", 2}});
  for (const KernelDesc* kernel :
       {&kOpenClConvMmaF32, &kOpenClConvMmaBlocksF32, &kOpenClConvMmaWindowF32})
    Check(*kernel, kMmaConvolutions[0]);
  Check(kOpenClConvMmaWindowF32, kTwentyChannels, kTilesOfTwenty);
}

TEST_F(OpenClMma, OtherTilesDoToo) {
  Check(kOpenClQuantisedMatMulMma, kByteProducts[0],
        {{"BM", 64}, {"BN", 32}, {"WM", 32}, {"STAGES", 3}});
  Check(kOpenClMatMulMma, kMmaGroups[1], {{"BM", 64}, {"BN", 32}, {"WM", 32}, {"STAGES", 3}});
}

/// Groups that share a tile, alone and where warps share its steps.
TEST_F(OpenClMma, SlicesAreAddedUp) {
  Check(kOpenClMatMulMma, kMmaGroups[1], {{"SPLIT", 3}});
  Check(kOpenClMatMulMma, kMmaGroups[2], {{"SPLIT", 2}});
  Check(kOpenClMatMulMma, kMmaGroups[3],
        {{"BN", 64}, {"WN", 32}, {"SPLIT", 1}, {"BK", 64}, {"WK", 2}});
  Check(kOpenClMatMulMma, kMmaGroups[4], {{"BK", 32}, {"SPLIT", 3}, {"STAGES", 3}});
  Check(kOpenClConvMma, kMmaConvolutions[0], {{"SPLIT", 4}});
  Check(kOpenClConvMma, kMmaConvolutions[1], {{"BK", 64}, {"WK", 2}, {"SPLIT", 3}, {"STAGES", 4}});
  Check(kOpenClQuantisedConvMma, kByteConvolutions[0], {{"SPLIT", 2}});
  Check(kOpenClQuantisedMatMulMma, kByteProducts[0], {{"SPLIT", 2}});
}

TEST_F(OpenClMma, WarpsShareSteps) {
  Check(kOpenClMatMulMma, kMmaGroups[1], {{"BK", 64}, {"WK", 2}});
  Check(kOpenClMatMulMma, kMmaGroups[2], {{"BK", 128}, {"WK", 2}});
  Check(kOpenClConvMma, kMmaConvolutions[1], {{"BN", 64}, {"BK", 128}, {"WK", 4}, {"WN", 32}});
}

/// B by rows and by columns, unsigned and signed bytes, edges, and slices.
TEST_F(OpenClMma, WarpgroupsAgreeWithTheOracle) {
  Params tile = {{"BM", 64}, {"BN", 64},    {"BK", 64},   {"WM", 16},       {"WN", 64},
                 {"WK", 1},  {"STAGES", 3}, {"SPLIT", 1}, {"WARPGROUPS", 1}};
  Check(kOpenClMatMulMma, kMmaGroups[0], tile);
  Check(kOpenClMatMulMma, kMmaGroups[1], tile);
  Check(kOpenClMatMulMmaBFloat, kBFloatGroups[0], tile);
  Check(kOpenClMatMulMmaBFloat, kBFloatGroups[1], tile);
  for (const int group : {0, 1, 3, 4, 5}) Check(kOpenClMatMulMmaTf32, kMmaGroups[group], tile);
  Check(kOpenClQuantisedMatMulMma, kByteProducts[0], tile);
  tile["SPLIT"] = 2;
  Check(kOpenClMatMulMma,
        "input %a: f32[70x200]\ninput %b: f32[200x88]\n%y = MatMul(%a, %b)\noutput %y\n", tile);
  tile["SPLIT"] = 1;
  tile["BM"] = 128;
  tile["BN"] = tile["WN"] = 128;
  Check(kOpenClQuantisedMatMulMma, kByteProducts[2], tile);
}

TEST_F(OpenClMma, TilesThatDoNotFitAreRefused) {
  const CaseGroup group = ParseGroup(kMmaGroups[0]);
  const auto states = CandidatesOf(kOpenClMatMulMma, *group.graph, *device_).value();
  const Problem problem{group.graph, states.front(), 1};
  const ParamSpace space = SpaceOf(kOpenClMatMulMma, problem, *device_);
  const auto refusal = [&](const Params& changes) {
    Params params = kSmallTile;
    for (const auto& [name, value] : changes) params[name] = value;
    return space.check(params).message();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"BM", 32}, {"WM", 64}}), "WM, WN: 64x16 do not cut 32x32 evenly");
  EXPECT_EQ(refusal({{"SPLIT", 4}}), "SPLIT: expected at most 2, got 4");
  EXPECT_EQ(refusal({{"WK", 2}}), "BK: expected at least 64, got 32");
  EXPECT_EQ(refusal({{"BM", 256}, {"WM", 16}}),
            "BK: 1024 work-items cannot share the tiles evenly");
  EXPECT_EQ(refusal({{"WARPGROUPS", 1}}),
            "WARPGROUPS: expected WM=16, WN=BN, BK=64, WK=1 and STAGES of 3 at least");
  EXPECT_EQ(refusal({{"BN", 128}, {"WN", 128}}),
            "WN: expected at most 64 without WARPGROUPS, got 128");
}

TEST(OpenClMmaCeilings, OfAllFactorsProveTheirWork) {
  const auto& plain = TestOpenClDevice();
  if (!plain.ok()) GTEST_SKIP() << "no OpenCL device: " << plain.status().message();
  const auto device = OpenClDevice::Open((*plain)->facts().platform, {.emulate_mma = true}).value();
  const auto measured =
      FindBackend(DeviceKind::kOpenCl)->probe(*device, {.for_bounds = false, .only = " mma"});
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  std::vector<std::string> names;
  for (const Ceiling& ceiling : *measured) {
    EXPECT_TRUE(ceiling.status.ok()) << ceiling.name << ": " << ceiling.status.message();
    EXPECT_GT(ceiling.value, 0) << ceiling.name;
    names.push_back(ceiling.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"f16 mma", "tf32 mma", "int8 mma"}));
}

TEST(OpenClMmaRefusal, ADeviceWithoutInstructionsSaysSo) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  if ((*device)->facts().HasExtension("cl_nv_device_attribute_query"))
    GTEST_SKIP() << "the device takes PTX";
  const Result<MmaFacts> probed = ProbeMma(**device);
  ASSERT_TRUE(probed.ok()) << probed.status().message();
  EXPECT_FALSE(probed->available);
  const CaseGroup group = ParseGroup(kMmaGroups[0]);
  EXPECT_EQ(CandidatesOf(kOpenClMatMulMma, *group.graph, **device).status().message(),
            "the device is not known to have matrix instructions");
}

}  // namespace
}  // namespace fettle::kernels
