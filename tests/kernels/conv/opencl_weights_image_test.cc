// Weights that lie in images, against the oracle, and where they lie before anything is measured.
#include "device/opencl/paper_device.h"
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvDirect;
extern const KernelDesc kOpenClConvDirectF16;
extern const KernelDesc kOpenClConvPointwise;
extern const KernelDesc kOpenClConvPointwiseF16;
extern const KernelDesc kOpenClMatMulBufferImage;
extern const KernelDesc kOpenClMatMulImages;

namespace {

/// f32 and f16, in buffers and in images.
constexpr size_t kPixelStates = 4;
constexpr std::string_view kPointwise =
    "input %x: f32[2x9x3x5]\nconst %w: f32[19x9x1x1]\nconst %b: f32[19]\n"
    "%y = Conv(%x, %w, %b)\n%z = Relu(%y)\noutput %z\n";
constexpr std::string_view kWindow =
    "input %x: f32[1x6x7x9]\nconst %w: f32[19x6x3x3]\n"
    "%y = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,1]}\noutput %y\n";
constexpr std::string_view kGroups =
    "input %x: f32[1x8x6x6]\nconst %w: f32[8x4x3x3]\n%y = Conv(%x, %w) {group=2}\noutput %y\n";
constexpr std::string_view kProduct =
    "input %a: f32[9x13]\nconst %b: f32[13x10]\n%y = MatMul(%a, %b)\noutput %y\n";
constexpr std::string_view kTransposed =
    "input %a: f32[9x13]\nconst %b: f32[10x13]\nconst %c: f32[10]\n"
    "%y = Gemm(%a, %b, %c) {transB=1}\n%z = Relu(%y)\noutput %z\n";

using PointwiseWeights = OneOpenClKernel<kOpenClConvPointwise>;
using WindowWeights = OneOpenClKernel<kOpenClConvDirect>;
using BufferTimesImage = OneOpenClKernel<kOpenClMatMulBufferImage>;
using ImageTimesConstant = OneOpenClKernel<kOpenClMatMulImages>;

TEST_F(PointwiseWeights, InAnImageGiveTheOraclesSums) {
  for (const int64_t quads : {1, 2, 4})
    Check(kPointwise, kPixelStates, {{"weights_image", 1}, {"quads", quads}});
}

TEST_F(WindowWeights, InAnImageGiveTheOraclesSums) {
  for (const int64_t quads : {1, 2, 4})
    Check(kWindow, kPixelStates, {{"weights_image", 1}, {"quads", quads}});
}

/// In arithmetic of f16, emulated where the device has none.
class HalfWeightsInImages : public OnOpenCl {
 protected:
  void Check(const KernelDesc& kernel, std::string_view text) {
    const auto device = OpenClDevice::Open(device_->facts().platform, {.emulate_fp16 = true});
    ASSERT_TRUE(device.ok()) << device.status().message();
    const CaseGroup group = ParseGroup(text);
    const auto candidates = CandidatesOf(kernel, *group.graph, **device);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    KernelRun run{kernel, group, {group.graph, candidates->front(), 1}, {}, ""};
    run.params = DefaultParams(kernel, run.problem, **device);
    run.params["weights_image"] = 1;
    EXPECT_TRUE(CheckRun(run, **device));
  }
};

TEST_F(HalfWeightsInImages, InAnImageGiveTheOraclesSums) {
  Check(kOpenClConvPointwiseF16, kPointwise);
  Check(kOpenClConvDirectF16, kWindow);
}

TEST_F(WindowWeights, OfSeveralGroupsLieInBuffers) {
  const CaseGroup group = ParseGroup(kGroups);
  const auto match = MatchGroup(kOpenClConvDirect, group.graph, *device_);
  ASSERT_TRUE(match.ok()) << match.status().message();
  const ParamSpace space = (*match)->params(0, 1);
  Params params = space.usual;
  params["weights_image"] = 1;
  EXPECT_EQ(space.check(params).message(), "weights of several groups lie in buffers");
}

TEST_F(BufferTimesImage, TakesAConstantAsTheImage) {
  Check(kProduct);
  Check(kTransposed);
}

TEST_F(ImageTimesConstant, TakesItInAnImageOrInABuffer) {
  constexpr size_t kStates = 4;  // C in a buffer and in an image
  Check(kProduct, kStates);
  Check(kTransposed, kStates, {{"B_IMAGE", 0}});
}

/// A GPU of a family that is not here.
OpenClFacts GpuOf(std::string_view family, int64_t image_side) {
  OpenClFacts facts;
  facts.family = family;
  facts.compute_units = 4;
  facts.max_work_group_size = 256;
  facts.max_work_item_sizes = {256, 256, 256};
  facts.images = facts.half_images = true;
  facts.image2d_max_width = facts.image2d_max_height = image_side;
  return facts;
}

Params UsualOf(const KernelDesc& kernel, std::string_view text, const OpenClFacts& facts) {
  const auto device = OpenPaperDevice(facts).value();
  const CaseGroup group = ParseGroup(text);
  return (*MatchGroup(kernel, group.graph, *device).value()).params(0, 1).usual;
}

TEST(WeightsBeforeMeasuring, LieWhereTheFamilyHasPixels) {
  for (const std::string_view text : {kPointwise, kWindow}) {
    EXPECT_EQ(UsualOf(kOpenClConvDirect, text, GpuOf("adreno", 16384)).at("weights_image"), 1);
    EXPECT_EQ(UsualOf(kOpenClConvDirect, text, GpuOf("powervr", 16384)).at("weights_image"), 1);
    EXPECT_EQ(UsualOf(kOpenClConvDirect, text, GpuOf("mali", 65536)).at("weights_image"), 0);
    EXPECT_EQ(UsualOf(kOpenClConvDirect, text, GpuOf("intel", 16384)).at("weights_image"), 0);
  }
}

TEST(WeightsBeforeMeasuring, LieInBuffersWhereTheImageIsTooLarge) {
  // 16 channels a block: rows of 3 quads x 16 pixels, 2 blocks.
  const OpenClFacts fits = GpuOf("adreno", 48), narrow = GpuOf("adreno", 47);
  EXPECT_EQ(UsualOf(kOpenClConvPointwise, kPointwise, fits).at("weights_image"), 1);
  EXPECT_EQ(UsualOf(kOpenClConvPointwise, kPointwise, narrow).at("weights_image"), 0);
  const auto device = OpenPaperDevice(narrow).value();
  const CaseGroup group = ParseGroup(kPointwise);
  const ParamSpace space =
      (*MatchGroup(kOpenClConvPointwise, group.graph, *device).value()).params(0, 1);
  Params params = space.usual;
  params["weights_image"] = 1;
  EXPECT_EQ(space.check(params).code(), StatusCode::kUnsupported);
}

TEST(ConstantsInProducts, AreRefusedWhereTheImageIsTooLarge) {
  const CaseGroup group = ParseGroup(kProduct);
  const auto device = OpenPaperDevice(GpuOf("adreno", 12)).value();
  const auto states = CandidatesOf(kOpenClMatMulBufferImage, *group.graph, *device);
  EXPECT_EQ(states.status().message(),
            "an image of 3x13 pixels for the right operand: the device has at most 12x12");
}

}  // namespace
}  // namespace fettle::kernels
