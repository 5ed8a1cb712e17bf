// cpu.binary.bytes: bytes with weights of two values, which are floats or bytes themselves.
#include <gtest/gtest.h>

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBinaryBytes;

namespace {

/// `outputs` of `depth` elements each, [depth][outputs] where `outputs_last`: of the output's two
/// values, which `value(output, bit)` tells.
template <typename Value>
std::string PairsOf(int64_t outputs, int64_t depth, bool outputs_last, Value value) {
  std::string text;
  for (int64_t i = 0; i < outputs * depth; ++i) {
    const int64_t output = outputs_last ? i % outputs : i / depth;
    text += fmt::format(" {}", value(output, i * 2654435761 % 977 % 2));
  }
  return text;
}

/// {-w, w}, {0, w} or, of every fifth output, {-w, 0}.
std::string FloatPairs(int64_t outputs, int64_t depth, bool outputs_last) {
  return PairsOf(outputs, depth, outputs_last, [](int64_t output, int64_t bit) {
    const double w = 0.25 * static_cast<double>(output % 7 + 1);
    if (output % 5 == 4) return bit == 0 ? -w : 0;
    return bit == 1 ? w : output % 3 == 0 ? 0 : -w;
  });
}

std::string CodePairs(int64_t outputs, int64_t depth, bool outputs_last, int low, int high) {
  return PairsOf(outputs, depth, outputs_last, [&](int64_t output, int64_t bit) {
    return output % 4 == 3 ? 1 : bit == 1 ? high : low;
  });
}

class BinaryBytes : public testing::Test {
 protected:
  void SetUp() override {
    if (GetBitKernels() == nullptr) GTEST_SKIP() << "the CPU has no AVX-512 VNNI";
  }

  void Check(const std::string& text) {
    const CaseGroup group = ParseGroup(text);
    const CpuDevice& device = TestDevice(3);
    const auto candidates = CandidatesOf(kCpuBinaryBytes, *group.graph, device);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    for (int threads : {1, 3}) {
      EXPECT_TRUE(CheckRun(
          {kCpuBinaryBytes, group, {group.graph, candidates->front(), threads}, {}, ""}, device));
    }
  }

  static std::string Refusal(const std::string& text) {
    const auto candidates = CandidatesOf(kCpuBinaryBytes, *ParseGroup(text).graph, TestDevice(1));
    return candidates.ok() ? "" : std::string(candidates.status().message());
  }
};

constexpr std::string_view kUnsigned =
    "const %s: f32[] = 0.02\nconst %z: u8[] = 117\n%d = DequantizeLinear(%x, %s, %z)\n";
constexpr std::string_view kSigned =
    "const %s: f32[] = 0.02\nconst %z: i8[] = -3\n%d = DequantizeLinear(%x, %s, %z)\n";
constexpr std::string_view kToBytes =
    "const %t: f32[] = 0.4\nconst %v: u8[] = 90\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n";

TEST_F(BinaryBytes, AnyNumberOfRowsAgreesWithTheOracle) {
  for (int rows : {1, 2, 11, 12, 13, 25, 130}) {
    for (int outputs : {7, 32, 100}) {
      Check(
          fmt::format("input %x: u8[{}x44] = noise(0, 255)\n{}const %w: f32[44x{}] ={}\n"
                      "%m = MatMul(%d, %w)\n%y = Relu(%m)\noutput %y\n",
                      rows, kUnsigned, outputs, FloatPairs(outputs, 44, true)));
    }
  }
}

TEST_F(BinaryBytes, GemmWithABiasAgreesWithTheOracle) {
  Check(
      fmt::format("input %x: i8[5x132] = noise(-128, 127)\n{}const %w: f32[37x132] ={}\n"
                  "const %b: f32[37]\n%r = Gemm(%d, %w, %b) {{transB=1}}\n{}",
                  kSigned, FloatPairs(37, 132, false), kToBytes));
}

TEST_F(BinaryBytes, WeightsOfBytesAgreeWithTheOracle) {
  for (const auto& [low, high] : {std::pair(-1, 1), {0, 1}, {-128, 127}, {3, -5}}) {
    Check(
        fmt::format("input %x: u8[9x64] = noise(0, 255)\n{}const %q: i8[64x45] ={}\n"
                    "const %e: f32[45] = noise(0.01, 0.05)\n"
                    "%w = DequantizeLinear(%q, %e) {{axis=1}}\n%m = MatMul(%d, %w)\n"
                    "%y = Sigmoid(%m)\noutput %y\n",
                    kUnsigned, CodePairs(45, 64, true, low, high)));
  }
}

TEST_F(BinaryBytes, WeightsWithAZeroPointAgreeWithTheOracle) {
  Check(
      fmt::format("input %x: u8[9x64] = noise(0, 255)\n{}const %q: u8[40x64] ={}\n"
                  "const %e: f32[] = 0.03\nconst %f: u8[] = 7\n"
                  "%w = DequantizeLinear(%q, %e, %f)\n%r = Gemm(%d, %w) {{transB=1}}\n{}",
                  kUnsigned, CodePairs(40, 64, false, 4, 255), kToBytes));
}

TEST_F(BinaryBytes, ConvolutionsAgreeWithTheOracle) {
  const auto check = [&](std::string_view shape, int64_t outputs, int64_t channels,
                         std::string_view kernel, int64_t taps, std::string_view attributes) {
    Check(
        fmt::format("input %x: u8[{}] = noise(0, 255)\n{}const %w: f32[{}x{}x{}] ={}\n"
                    "const %b: f32[{}]\n%c = Conv(%d, %w, %b) {{{}}}\n%r = Relu(%c)\n{}",
                    shape, kUnsigned, outputs, channels, kernel,
                    FloatPairs(outputs, channels * taps, false), outputs, attributes, kToBytes));
  };
  check("2x20x9x8", 45, 20, "3x3", 9, "pads=[1,1,1,1]");
  check("1x36x7x7", 64, 36, "1x1", 1, "");
  check("1x8x10x9", 33, 8, "3x3", 9, "strides=[2,3], dilations=[2,1], pads=[0,2,1,1]");
  check("1x24x8x9", 36, 12, "3x3", 9, "group=2, pads=[1,1,1,1]");
  check("3x12x40", 20, 12, "5", 5, "pads=[2,2], strides=[2]");
}

TEST_F(BinaryBytes, OthersAreRefusedWithAReason) {
  const std::string head = fmt::format("input %x: u8[2x8] = noise(0, 255)\n{}", kUnsigned);
  const std::string tail = "%y = MatMul(%d, %w)\noutput %y\n";
  EXPECT_EQ(Refusal(head + "const %w: f32[8x1] = 1 2 1 -1 1 1 2 2\n" + tail),
            "the weights of output 0 have more than two values");
  EXPECT_EQ(Refusal(head + "const %w: f32[8x1] = 1 2 1 2 1 1 2 2\n" + tail),
            "two values: neither is 0, and they are not each other's negative");
  EXPECT_EQ(Refusal("input %x: u8[2x3] = noise(0, 255)\n" + std::string(kUnsigned) +
                    "const %w: f32[3x1] = 1 -1 1\n" + tail),
            "channels that are not a multiple of four");
  EXPECT_EQ(Refusal("input %d: f32[2x4]\nconst %w: f32[4x1] = 1 -1 1 1\n" + tail),
            "an operand is not dequantised");
}

}  // namespace
}  // namespace fettle::kernels
