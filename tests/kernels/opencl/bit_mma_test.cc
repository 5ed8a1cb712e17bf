// Products of bits by matrix instructions, emulated, against the oracle bit for bit; and what a
// device without them says.
#include "kernels/opencl/probe/bit_mma.h"

#include <gtest/gtest.h>

#include "tests/kernels/kernel_check.h"
#include "tests/kernels/opencl/bit_cases.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClBinaryMma;

namespace {

struct BitMmaCase {
  const char* name;
  const char* graph;
};

constexpr BitMmaCase kBitMmaCases[] = {
    // Pieces of 16 bytes; weights -w and w, an addend, several images, rows beyond the last pixel.
    {"two_words",
     "input %x: u64[2x5x7x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[5x3x3x2] = noise(0, 9007199254740991)\n"
     "const %r: f32[3x5] = -1 -0.5 -0.3 2 -1 1 0.5 0.3 -2 1 0 0 0.25 0 -7\n"
     "%y = BinaryConv(%x, %w, %r) {channels=128, pads=[1,1,1,1], strides=[1,2]}\noutput %y\n"},
    // Pieces of 8 bytes, rows of an odd number of words, dilations, steps beyond the last.
    {"three_words",
     "input %x: u64[1x9x7x3] = noise(0, 9007199254740991)\n"
     "const %w: u64[3x2x3x3] = noise(0, 9007199254740991)\n"
     "const %r: f32[3x3] = -1 -0.5 2 1 0.5 -2 0 1 0\n"
     "%y = BinaryConv(%x, %w, %r) {channels=192, pads=[2,1,1,2], dilations=[2,3]}\noutput %y\n"},
    {"weights_of_zero", bit_cases::kWeightsOfZero},
    {"bits_of_zero", bit_cases::kBitsOfZero},
    {"to_bits",
     "input %x: u64[1x9x7x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[70x3x3x2] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x70] = noise(-300, 300)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=128, pads=[1,1,1,1]}\noutput %y\n"},
    {"to_bits_of_zeros_and_ones",
     "input %x: u64[1x5x7x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[72x3x3x1] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x72] = noise(60, 200)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=64, pads=[1,1,1,1], x_unipolar=1, "
     "w_unipolar=1}\noutput %y\n"},
    {"padded_with_ones",
     "input %x: u64[2x5x4x1] = noise(0, 1099511627775)\n"
     "const %w: u64[9x3x3x1] = noise(0, 1099511627775)\n"
     "const %l: i32[2x9] = noise(-60, 60)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=40, pads=[1,2,1,1], pad_bit=1}\noutput %y\n"},
    {"padded_with_zeros",
     "input %x: u64[1x5x4x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[16x3x3x2] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x16] = noise(-60, 60)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=128, pads=[1,1,1,1], pad_bit=0}\noutput %y\n"},
    {"line",
     "input %x: u64[1x19x1] = noise(0, 2147483647)\n"
     "const %w: u64[3x5x1] = noise(0, 2147483647)\n"
     "const %r: f32[3x3] = -1 -0.5 3 1 0.5 -3 0 1 0\n"
     "%y = BinaryConv(%x, %w, %r) {channels=31, pads=[2,2]}\noutput %y\n"},
    {"residual", bit_cases::kResidual},
    {"rows",
     "input %x: u64[2x9x3] = noise(0, 9007199254740991)\ninput %s: f32[2x9x5]\n"
     "const %w: u64[5x3] = noise(0, 9007199254740991)\n"
     "const %r: f32[3x5] = -1 -0.5 -0.3 2 -1 1 0.5 0.3 -2 1 0 0 0.25 0 -7\n"
     "%c = BinaryMatMul(%x, %w, %r) {channels=192}\n%y = Add(%c, %s)\n"
     "%t = PackBits(%y) {axis=-1, low=0.0, high=inf}\noutput %y\noutput %t\n"},
    {"row_to_bits",
     "input %x: u64[1x4] = noise(0, 9007199254740991)\n"
     "const %w: u64[40x4] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x40] = noise(-90, 90)\n"
     "%y = BinaryMatMul(%x, %w, %l) {channels=256}\noutput %y\n"},
};

/// A device that emulates; nullptr where there is none.
OpenClDevice* EmulatingDevice() {
  static const auto& opened =
      *new Result<std::shared_ptr<OpenClDevice>>([]() -> Result<std::shared_ptr<OpenClDevice>> {
        RETURN_IF_ERROR(TestOpenClDevice().status());
        const OpenClOptions options{.emulate_mma = true};
        return OpenClDevice::Open((*TestOpenClDevice())->facts().platform, options);
      }());
  return opened.ok() ? opened->get() : nullptr;
}

void CheckBitMma(std::string_view text, const OpenClDevice& device, const Params& changes = {}) {
  const CaseGroup group = ParseGroup(text);
  const auto candidates = CandidatesOf(kOpenClBinaryMma, *group.graph, device);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  KernelRun run{kOpenClBinaryMma, group, {group.graph, candidates->front(), 1}, {}, ""};
  run.params = DefaultParams(kOpenClBinaryMma, run.problem, device);
  for (const auto& [name, value] : changes) run.params[name] = value;
  const Status valid = SpaceOf(kOpenClBinaryMma, run.problem, device).check(run.params);
  ASSERT_TRUE(valid.ok()) << valid.message();
  EXPECT_TRUE(CheckRun(run, device));
}

class OpenClBitMmaTest : public testing::TestWithParam<BitMmaCase> {};

TEST_P(OpenClBitMmaTest, AgreesWithTheOracle) {
  const OpenClDevice* device = EmulatingDevice();
  if (device == nullptr) GTEST_SKIP() << "no OpenCL device";
  CheckBitMma(GetParam().graph, *device);
}

INSTANTIATE_TEST_SUITE_P(All, OpenClBitMmaTest, testing::ValuesIn(kBitMmaCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OpenClBitMma, TheProbeRunsTheInstruction) {
  const OpenClDevice* device = EmulatingDevice();
  if (device == nullptr) GTEST_SKIP() << "no OpenCL device";
  const Result<bool> probed = ProbeBitMma(*device);
  ASSERT_TRUE(probed.ok()) << probed.status().message();
  EXPECT_TRUE(*probed);
}

TEST(OpenClBitMma, WarpsShareSumsOfSeveralTiles) {
  const OpenClDevice* device = EmulatingDevice();
  if (device == nullptr) GTEST_SKIP() << "no OpenCL device";
  CheckBitMma(kBitMmaCases[4].graph, *device,
              {{"BM", 32}, {"BN", 64}, {"WM", 32}, {"WN", 32}, {"WARPS_K", 2}});
}

TEST(OpenClBitMma, LongSumsComeInParts) {
  OpenClDevice* device = EmulatingDevice();
  if (device == nullptr) GTEST_SKIP() << "no OpenCL device";
  const MmaFacts facts = device->facts().mma;
  MmaFacts small = facts;
  small.local_bytes = 3 << 10;  // two of five steps
  device->Learn(small);
  CheckBitMma(kBitMmaCases[0].graph, *device);
  CheckBitMma(kBitMmaCases[1].graph, *device);
  small.local_bytes = 1 << 10;
  device->Learn(small);
  const CaseGroup group = ParseGroup(kBitMmaCases[0].graph);
  const auto states = CandidatesOf(kOpenClBinaryMma, *group.graph, *device).value();
  const Problem problem{group.graph, states.front(), 1};
  const ParamSpace space = SpaceOf(kOpenClBinaryMma, problem, *device);
  EXPECT_EQ(space.check(space.usual).message(),
            "tiles: expected at most 1024 bytes of local memory, got 1536");
  device->Learn(facts);
}

TEST(OpenClBitMma, ADeviceWithoutTheInstructionSaysSo) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  if ((*device)->facts().mma.bits) GTEST_SKIP() << "the device has it";
  const CaseGroup group = ParseGroup(kBitMmaCases[0].graph);
  EXPECT_EQ(CandidatesOf(kOpenClBinaryMma, *group.graph, **device).status().message(),
            "the device is not known to have matrix instructions for bits");
}

}  // namespace
}  // namespace fettle::kernels
