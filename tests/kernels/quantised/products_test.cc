#include <fmt/format.h>

#include "device/cpu/amx.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuQuantisedDepthwiseDot;
extern const KernelDesc kCpuQuantisedDepthwiseNhwc;
extern const KernelDesc kCpuQuantisedGemm;
extern const KernelDesc kCpuQuantisedGemmAmx;
extern const KernelDesc kCpuQuantisedGemmTerms;
extern const KernelDesc kCpuWeightOnlyGemm;

namespace {

/// Checks the kernels of products that run on the forced `target`.
void CheckProduct(std::string_view target, std::string_view text, const Tolerance& tolerance) {
  CheckKernel(kCpuQuantisedGemm, text, tolerance);
  if (GetAmxSets().int8 && target == "AVX3") CheckKernel(kCpuQuantisedGemmAmx, text, tolerance);
  if (target == "AVX2" && GetQuantKernels(16).wide)
    CheckKernel(kCpuQuantisedGemmTerms, text, tolerance);
}

/// One step: the float sequence of the oracle may round to the other neighbour.
constexpr Tolerance kOneStep = {.atol = 1, .rtol = 0};

struct ConvRow {
  const char *x, *w, *attributes;
};
constexpr ConvRow kConvs[] = {
    {"1x16x7x9", "33x16x1x1", ""},
    {"2x5x11x13", "7x5x3x3", "pads=[1,1,1,1]"},
    {"1x3x23x29", "16x3x3x3", "pads=[1,1,1,1], strides=[2,2]"},
    {"1x22x9x11", "40x22x3x3", "pads=[2,2,2,2], dilations=[2,2]"},
    {"1x22x9x11", "20x22x3x3", "pads=[1,1,1,1], strides=[2,1]"},
    {"2x70x5x6", "12x70x3x3", "pads=[1,1,1,1]"},
    {"1x12x6x6", "36x6x3x3", "pads=[1,1,1,1], group=2"},
    {"1x9x14", "20x9x5", "pads=[2,2]"},
    {"1x64x17x19", "72x64x3x3", "pads=[1,1,1,1]"},
    {"1x128x7x7", "40x128x1x1", ""},
    // First layers, whose kernel rows share chunks of depth: whole tiles in a line, and not.
    {"2x3x15x28", "40x3x7x7", "pads=[3,3,3,3], strides=[2,2]"},
    {"1x3x13x99", "20x3x3x3", "strides=[2,2]"},
    {"1x4x9x26", "17x4x5x5", "pads=[0,1,3,2], strides=[1,2]"},
    {"1x1x20x12", "8x1x9x9", "pads=[4,4,4,4], strides=[3,1]"},
    {"1x2x7x48", "9x2x3x4", "pads=[1,2,1,1], dilations=[2,1]"},
    // Lines of three tiles and more, which do not divide them.
    {"1x24x5x57", "33x24x3x3", "pads=[1,1,1,1]"},
};

std::string QdqConv(const ConvRow& row, std::string_view x_type, int x_zero,
                    std::string_view w_type, int w_zero, std::string_view tail) {
  const std::string_view w = row.w;
  const std::string_view oc = w.substr(0, w.find('x'));
  const std::string_view x_range = x_type == "u8" ? "0, 255" : "-128, 127";
  const std::string_view w_range = w_type == "u8" ? "0, 255" : "-127, 127";
  return fmt::format(
      "input %q: {0}[{1}] = noise({2})\nconst %sx: f32[] = 0.02\nconst %zx: {0}[] = {3}\n"
      "const %w: {4}[{5}] = noise({6})\nconst %sw: f32[{7}] = noise(0.005, 0.01)\n"
      "const %zw: {4}[{7}] = noise({8}, {8})\nconst %b: f32[{7}]\n"
      "const %sy: f32[] = 0.05\nconst %zy: {0}[] = {3}\n"
      "%x = DequantizeLinear(%q, %sx, %zx)\n%f = DequantizeLinear(%w, %sw, %zw) {{axis=0}}\n"
      "%c = Conv(%x, %f, %b) {{{9}}}\n{10}",
      x_type, row.x, x_range, x_zero, w_type, w, w_range, oc, w_zero, row.attributes, tail);
}

TEST(Quantised, ConvolutionsOfEveryTypeOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const ConvRow& row : kConvs) {
      for (int flags = 0; flags < 4; ++flags) {
        SCOPED_TRACE(fmt::format("{} {}", target, flags));
        const bool u8 = (flags & 1) != 0, asymmetric = (flags & 2) != 0;
        CheckProduct(target,
                     QdqConv(row, u8 ? "u8" : "i8", u8 ? 100 : -5, asymmetric ? "u8" : "i8",
                             asymmetric ? 117 : 0,
                             "%r = Relu(%c)\n%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"),
                     kOneStep);
      }
    }
  }
  ForceSimdTarget("");
}

/// A residual block's end: bytes of `row`'s product and of a shortcut, both of `type`, to `y_type`.
std::string QdqResidual(const ConvRow& row, std::string_view type, std::string_view y_type,
                        std::string_view shortcut, int w_zero, bool clamped) {
  const bool u8 = type == "u8";
  const std::string tail = fmt::format(
      "input %o: {0}[{1}] = noise({2})\nconst %so: f32[] = 0.033\nconst %zo: {0}[] = {3}\n"
      "const %st: f32[] = 0.061\nconst %zt: {4}[] = {5}\n"
      "%q1 = QuantizeLinear(%c, %sy, %zy)\n%d1 = DequantizeLinear(%q1, %sy, %zy)\n"
      "%do = DequantizeLinear(%o, %so, %zo)\n%sum = Add(%do, %d1)\n"
      "{6}%y = QuantizeLinear({7}, %st, %zt)\noutput %y\n",
      type, shortcut, u8 ? "0, 255" : "-128, 127", u8 ? 90 : -11, y_type, y_type == "u8" ? 77 : -60,
      clamped ? "%r = Relu(%sum)\n" : "", clamped ? "%r" : "%sum");
  return QdqConv(row, type, u8 ? 100 : -5, w_zero == 0 ? "i8" : "u8", w_zero, tail);
}

TEST(Quantised, ResidualBlocksOnEveryInstructionSet) {
  struct Row {
    ConvRow conv;
    const char *shortcut, *type, *y_type;
    int w_zero;
    bool clamped;
  };
  const Row rows[] = {
      {kConvs[0], "1x33x7x9", "u8", "u8", 0, true},
      {kConvs[8], "1x72x17x19", "i8", "i8", 0, true},
      {kConvs[9], "1x40x7x7", "u8", "i8", 0, false},
      {kConvs[5], "2x12x5x6", "i8", "u8", 0, false},
      {kConvs[0], "1x33x7x9", "u8", "u8", 117, true},
      {kConvs[1], "2x7x11x13", "i8", "i8", 3, false},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const Row& row : rows) {
      SCOPED_TRACE(fmt::format("{} {} {}", target, row.conv.x, row.w_zero));
      CheckProduct(
          target,
          QdqResidual(row.conv, row.type, row.y_type, row.shortcut, row.w_zero, row.clamped),
          kOneStep);
    }
  }
  ForceSimdTarget("");
}

TEST(Quantised, WeightsOfUnsignedBytesWithoutZeroPoints) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const std::string_view type : {"u8", "i8"}) {
      SCOPED_TRACE(fmt::format("{} {}", target, type));
      CheckProduct(target,
                   fmt::format("input %x: {}[37x130] = noise({})\nconst %zx: {}[] = 5\n"
                               "const %w: u8[130x41] = noise(0, 255)\n"
                               "%y = MatMulInteger(%x, %w, %zx)\noutput %y\n",
                               type, type == "u8" ? "0, 255" : "-128, 127", type),
                   {});
    }
  }
  ForceSimdTarget("");
}

TEST(Quantised, OtherTailsRunAsPrograms) {
  static constexpr const char* kTails[] = {
      "output %c\n",
      "%y = Relu(%c)\noutput %y\n",
  };
  for (const char* tail : kTails) {
    CheckKernel(kCpuQuantisedGemm, QdqConv(kConvs[1], "u8", 3, "i8", 0, tail),
                {.atol = 1e-3, .rtol = 1e-5});
  }
  CheckKernel(kCpuQuantisedGemm,
              QdqConv(kConvs[1], "i8", 3, "i8", 0,
                      "%s = Sigmoid(%c)\n%m = Mul(%c, %s)\n"
                      "%y = QuantizeLinear(%m, %sy, %zy)\noutput %y\n"),
              kOneStep);
  CheckKernel(kCpuQuantisedGemm,
              QdqConv(kConvs[0], "i8", 3, "i8", 0,
                      "const %lo: f32[] = 0.0\nconst %hi: f32[] = 2.0\n%r = Clip(%c, %lo, %hi)\n"
                      "%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"),
              kOneStep);
}

TEST(QuantisedDepthwise, AgreesWithTheOracleOnEveryInstructionSet) {
  static constexpr ConvRow kRows[] = {
      {"1x33x9x11", "33x1x3x3", "pads=[1,1,1,1], group=33"},
      {"2x32x8x7", "32x1x3x3", "pads=[1,1,1,1], strides=[2,2], group=32"},
      {"1x17x13x14", "17x1x5x5", "pads=[2,2,2,2], group=17"},
      {"1x12x9x9", "24x1x3x3", "pads=[1,1,1,1], group=12"},
      {"1x6x9x9", "6x1x3x3", "pads=[2,2,2,2], dilations=[2,2], group=6"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const ConvRow& row : kRows) {
      for (int flags = 0; flags < 4; ++flags) {
        SCOPED_TRACE(fmt::format("{} {}", target, flags));
        const bool u8 = (flags & 1) != 0, asymmetric = (flags & 2) != 0;
        for (const char* tail : {"%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n",
                                 "%s = Sigmoid(%c)\n%m = Mul(%c, %s)\n"
                                 "%y = QuantizeLinear(%m, %sy, %zy)\noutput %y\n"}) {
          CheckKernel(kCpuQuantisedDepthwiseNhwc,
                      QdqConv(row, u8 ? "u8" : "i8", u8 ? 100 : -5, asymmetric ? "u8" : "i8",
                              asymmetric ? 117 : 0, tail),
                      kOneStep);
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(QuantisedDepthwise, DotProductsAgreeWithTheOracle) {
  static constexpr ConvRow kRows[] = {
      {"1x33x9x11", "33x1x3x3", "pads=[1,1,1,1], group=33"},
      {"2x32x8x7", "32x1x3x3", "pads=[1,1,1,1], strides=[2,2], group=32"},
      {"1x145x13x14", "145x1x5x5", "pads=[2,2,2,2], group=145"},
      {"1x70x9x250", "70x1x7x7", "pads=[3,3,3,3], group=70"},
      {"1x6x9x9", "6x1x3x3", "pads=[2,2,2,2], dilations=[2,2], group=6"},
      {"1x64x5x3", "64x1x5x1", "pads=[4,0,4,0], group=64"},
      {"1x144x7x9", "144x1x3x3", "pads=[1,1,1,1], group=144"},
      {"1x96x10x14", "96x1x3x3", "pads=[0,0,1,1], strides=[2,2], group=96"},
      {"2x16x9x5", "16x1x3x3", "pads=[2,1,2,1], dilations=[2,1], group=16"},
      {"1x50x40x60", "50x1x2x3", "pads=[0,2,1,3], strides=[1,2], group=50"},
      {"1x20x31", "20x1x3", "pads=[1,0], strides=[2], group=20"},
  };
  ForceSimdTarget("");
  if (!RunsAvx512Vnni()) GTEST_SKIP() << "no AVX-512 VNNI";
  for (const ConvRow& row : kRows) {
    for (int flags = 0; flags < 4; ++flags) {
      SCOPED_TRACE(flags);
      const bool u8 = (flags & 1) != 0, unsigned_w = (flags & 2) != 0;
      for (const char* tail : {"%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n",
                               "%r = Relu(%c)\n%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"}) {
        CheckKernel(kCpuQuantisedDepthwiseDot,
                    QdqConv(row, u8 ? "u8" : "i8", u8 ? 100 : -5, unsigned_w ? "u8" : "i8",
                            unsigned_w ? 128 : 0, tail),
                    kOneStep);
      }
    }
  }
}

TEST(Quantised, MatrixProducts) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    CheckProduct(target,
                 "input %q: u8[2x9x50] = noise(0, 255)\nconst %sx: f32[] = 0.02\n"
                 "const %zx: u8[] = 7\nconst %w: i8[50x37] = noise(-127, 127)\n"
                 "const %sw: f32[37] = noise(0.005, 0.01)\nconst %sy: f32[] = 0.05\n"
                 "%x = DequantizeLinear(%q, %sx, %zx)\n%f = DequantizeLinear(%w, %sw) {axis=1}\n"
                 "%c = MatMul(%x, %f)\n%y = QuantizeLinear(%c, %sy)\noutput %y\n",
                 kOneStep);
    CheckProduct(target,
                 "input %q: i8[3x33] = noise(-128, 127)\nconst %sx: f32[] = 0.02\n"
                 "const %w: i8[37x33] = noise(-127, 127)\nconst %sw: f32[] = 0.01\n"
                 "const %b: i32[37] = noise(-900, 900)\nconst %sb: f32[] = 0.0002\n"
                 "%x = DequantizeLinear(%q, %sx)\n%f = DequantizeLinear(%w, %sw)\n"
                 "%g = DequantizeLinear(%b, %sb)\n%c = Gemm(%x, %f, %g) {transB=1}\noutput %c\n",
                 {.atol = 1e-3, .rtol = 1e-5});
  }
  ForceSimdTarget("");
}

TEST(Quantised, IntegerOperatorsWithComputedZeroPoints) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    CheckProduct(target,
                 "input %x: u8[1x8x9x9] = noise(0, 255)\ninput %z: u8[] = noise(90, 90)\n"
                 "const %w: u8[17x8x3x3] = noise(0, 255)\nconst %wz: u8[] = 131\n"
                 "%y = ConvInteger(%x, %w, %z, %wz) {pads=[1,1,1,1]}\noutput %y\n",
                 {});
    // Exact: what follows is quantised by its own range, where one bit moves values to other steps.
    CheckProduct(target,
                 "input %x: u8[1x8x9x9] = noise(0, 255)\ninput %z: u8[] = noise(90, 90)\n"
                 "input %s: f32[]\nconst %b: f32[1x17x1x1]\n"
                 "const %w: i8[17x8x3x3] = noise(-127, 127)\n"
                 "%c = ConvInteger(%x, %w, %z) {pads=[1,1,1,1]}\n%f = Cast(%c) {to=\"f32\"}\n"
                 "%m = Mul(%f, %s)\n%a = Add(%m, %b)\n%y = Relu(%a)\noutput %y\n",
                 {});
    CheckProduct(target,
                 "input %x: i8[5x70] = noise(-128, 127)\nconst %w: i8[70x41] = noise(-128, 127)\n"
                 "const %zx: i8[] = -3\n%y = MatMulInteger(%x, %w, %zx)\noutput %y\n",
                 {});
  }
  ForceSimdTarget("");
}

/// Of products with weights of few bits, which compute in floats.
constexpr Tolerance kSums = {.atol = 2e-4, .rtol = 1e-5};

/// Weights [k, n] with blocks of scales along k; block 0: a scale per column.
std::string WeightsInBlocks(int m, int k, int n, int block, std::string_view type, bool zeros,
                            std::string_view tail = "output %y\n") {
  const int blocks = block == 0 ? 1 : (k + block - 1) / block;
  const std::string scales = block == 0 ? fmt::format("{}", n) : fmt::format("{}x{}", blocks, n);
  const std::string_view range = type == "i4"   ? "-8, 7"
                                 : type == "u4" ? "0, 15"
                                 : type == "i8" ? "-128, 127"
                                                : "0, 255";
  return fmt::format(
      "input %x: f32[{0}x{1}]\nconst %w: {4}[{1}x{2}] = noise({5})\n"
      "const %s: f32[{3}] = noise(0.005, 0.01)\n{6}"
      "%d = DequantizeLinear(%w, %s{7}) {{axis={8}, block_size={9}}}\n"
      "%y = MatMul(%x, %d)\n{10}",
      m, k, n, scales, type, range,
      zeros ? fmt::format("const %z: {}[{}] = noise({})\n", type, scales, range) : "",
      zeros ? ", %z" : "", block == 0 ? 1 : 0, block, tail);
}

TEST(WeightOnly, RowsBlocksAndTypesOnEveryInstructionSet) {
  struct Row {
    int m, k, n, block;
  };
  // Tiles of each height; blocks and depths that are no multiple of a step; a single panel.
  constexpr Row kRows[] = {
      {1, 64, 33, 16},   {2, 37, 70, 16},   {3, 100, 32, 32}, {4, 9, 5, 4},      {5, 300, 17, 64},
      {7, 64, 64, 128},  {8, 50, 40, 0},    {13, 96, 48, 32}, {17, 1100, 35, 0}, {40, 1100, 33, 48},
      {230, 64, 40, 32}, {19, 1300, 20, 1}, {1, 1, 1, 0}};
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const Row& row : kRows) {
      for (const std::string_view type : {"i4", "u4", "i8", "u8"}) {
        for (const bool zeros : {false, true}) {
          SCOPED_TRACE(fmt::format("{} {}x{}x{} block {} {} {}", target, row.m, row.k, row.n,
                                   row.block, type, zeros));
          CheckKernel(kCpuWeightOnlyGemm,
                      WeightsInBlocks(row.m, row.k, row.n, row.block, type, zeros),
                      {.atol = 2e-3, .rtol = 2e-5});
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(WeightOnly, GemmWithTransposedWeightsAndARow) {
  for (const int m : {1, 6, 40}) {
    for (const std::string_view addend : {"", "33", "1x33", "1"}) {
      CheckKernel(kCpuWeightOnlyGemm,
                  fmt::format("input %x: f32[{0}x50]\nconst %w: u4[33x50] = noise(0, 15)\n"
                              "const %s: f32[33x4] = noise(0.01, 0.1)\n"
                              "const %z: u4[33x4] = noise(0, 15)\n{1}"
                              "%d = DequantizeLinear(%w, %s, %z) {{axis=1, block_size=16}}\n"
                              "%g = Gemm(%x, %d{2}) {{transB=1, beta=2.0}}\n%y = Relu(%g)\n"
                              "output %y\n",
                              m, addend.empty() ? "" : fmt::format("const %c: f32[{}]\n", addend),
                              addend.empty() ? "" : ", %c"),
                  kSums);
    }
  }
}

TEST(WeightOnly, FinishesElementWiseChains) {
  for (const int m : {1, 40}) {
    CheckKernel(kCpuWeightOnlyGemm,
                WeightsInBlocks(m, 64, 40, 32, "i4", false,
                                "const %c: f32[40]\n%a = Add(%y, %c)\n%g = Gelu(%a)\noutput %g\n"),
                kSums);
    CheckKernel(kCpuWeightOnlyGemm,
                WeightsInBlocks(m, 64, 40, 32, "i8", false, "%r = Relu(%y)\noutput %r\n"), kSums);
  }
}

TEST(WeightOnly, RefusesWhatIsNoProductOfFewBits) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  for (const char* text : {
           "input %x: f32[2x4]\nconst %w: i16[4x3]\nconst %s: f32[] = 0.5\n"
           "%d = DequantizeLinear(%w, %s)\n%y = MatMul(%x, %d)\noutput %y\n",
           "input %x: f32[2x4]\nconst %w: i8[4x3]\nconst %s: f32[4]\n"
           "%d = DequantizeLinear(%w, %s) {axis=0}\n%y = MatMul(%x, %d)\noutput %y\n",
           "input %x: f32[2x4]\nconst %w: i8[4x3]\nconst %s: f32[] = 0.5\n"
           "%d = DequantizeLinear(%w, %s)\n%y = Gemm(%x, %d) {alpha=2.0}\noutput %y\n",
           "input %x: f32[4]\nconst %w: i8[4x3]\nconst %s: f32[] = 0.5\n"
           "%d = DequantizeLinear(%w, %s)\n%y = MatMul(%x, %d)\noutput %y\n",
       }) {
    EXPECT_FALSE(CandidatesOf(kCpuWeightOnlyGemm, *ParseGroup(text).graph, device).ok()) << text;
  }
}

}  // namespace
}  // namespace fettle::kernels
