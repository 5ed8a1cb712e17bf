// Products of bits over grids of shapes, after the tests of Larq's compute engine (bconv2d), and
// sums as large as they get: every way of counting on every instruction set, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/simd/targets.h"
#include "ops/binary/op.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBinaryProduct;
extern const KernelDesc kCpuBinaryTables;

namespace {

struct GridShape {
  int64_t images = 1, height = 1, width = 1, channels = 1;  // channels: of a group
  int64_t taps_high = 1, taps_wide = 1, outputs = 1, groups = 1;
  std::string_view steps;  // strides, dilations
  std::string_view edge;   // padding
};

/// What sums become: floats of weights that are anything, floats of -w and w, those with Relu,
/// bits.
enum class SumsTo { kAny, kScaled, kRelu, kBits };

std::string ScaledResults(int64_t outputs) {
  std::string text = fmt::format("const %r: f32[3x{}] =", outputs);
  for (const double sign : {-1.0, 1.0, 0.0})
    for (int64_t i = 0; i < outputs; ++i)
      text += fmt::format(" {}", sign * 0.125 * static_cast<double>(i % 3 + 1));
  return text + "\n";
}

std::string GridText(const GridShape& p, SumsTo results, std::string_view x, std::string_view w) {
  const int64_t words = ops::WordsOf(p.channels), all = p.groups * p.outputs;
  std::string text =
      fmt::format("input %x: u64[{}x{}x{}x{}]{}\nconst %w: u64[{}x{}x{}x{}]{}\n", p.images,
                  p.height, p.width, p.groups * words, x, all, p.taps_high, p.taps_wide, words, w);
  const int64_t bound = p.taps_high * p.taps_wide * p.channels / 4;
  if (results == SumsTo::kBits)
    text += fmt::format("const %r: i32[2x{}] = noise({}, {})\n", all, -bound, bound);
  else
    text +=
        results == SumsTo::kAny ? fmt::format("const %r: f32[3x{}]\n", all) : ScaledResults(all);
  text += fmt::format("%c = BinaryConv(%x, %w, %r) {{channels={}, group={}{}{}}}\n",
                      p.groups * p.channels, p.groups, p.steps, p.edge);
  return text + (results == SumsTo::kRelu ? "%y = Relu(%c)\noutput %y\n" : "output %c\n");
}

/// Checks one graph on each target, and returns how many kernels ran.
int CheckGrid(const std::string& text, int threads) {
  const CaseGroup group = ParseGroup(text);
  const CpuDevice& device = TestDevice(3);
  int ran = 0;
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const KernelDesc* kernel : {&kCpuBinaryProduct, &kCpuBinaryTables}) {
      const auto candidates = CandidatesOf(*kernel, *group.graph, device);
      if (!candidates.ok()) continue;
      const testing::AssertionResult result = CheckRun({*kernel,
                                                        group,
                                                        {group.graph, candidates->front(), threads},
                                                        {},
                                                        std::string(target),
                                                        Tolerance{}},
                                                       device);
      EXPECT_TRUE(result) << kernel->name << " " << target << "\n" << text;
      ++ran;
    }
  }
  ForceSimdTarget("");
  return ran;
}

/// Bits of each word: no word has one behind the last channel, and noise has 53.
std::string NoiseOf(int64_t channels) {
  const int64_t rest = channels % ops::kWordBits;
  const int64_t bits = std::min<int64_t>(rest == 0 ? ops::kWordBits : rest, 53);
  return fmt::format(" = noise(0, {})", (int64_t{1} << bits) - 1);
}

TEST(BinaryGrid, ShapesOfLarq) {
  constexpr GridShape kShapes[] = {{1, 7, 7, 4},   {3, 8, 5, 64},  {5, 7, 7, 96}, {1, 8, 5, 128},
                                   {1, 7, 7, 192}, {1, 8, 5, 256}, {1, 7, 7, 512}};
  constexpr std::pair<int, int> kFilters[] = {{1, 1}, {2, 3}, {3, 3}};
  constexpr std::string_view kSteps[] = {"", ", strides=[2,3]", ", dilations=[3,2]"};
  constexpr std::string_view kEdges[] = {"", ", auto_pad=\"SAME_UPPER\"",
                                         ", auto_pad=\"SAME_UPPER\", pad_bit=1"};
  int graphs = 0, ran = 0;
  for (GridShape p : kShapes) {
    for (const auto& [high, wide] : kFilters) {
      for (const int64_t outputs : {1, 4, 64}) {
        for (const std::string_view steps : kSteps) {
          for (const std::string_view edge : kEdges) {
            p.taps_high = high;
            p.taps_wide = wide;
            p.outputs = outputs;
            p.steps = steps;
            p.edge = edge;
            // Groups, results and threads take turns, so that each meets each in time.
            constexpr int64_t kGroups[] = {1, 2, 1, 4, 1};
            p.groups = kGroups[graphs % 5];
            const auto results = static_cast<SumsTo>(graphs % 4);
            const bool may_pack = p.groups == 1 || outputs % 8 == 0;
            const std::string text =
                GridText(p, may_pack || results != SumsTo::kBits ? results : SumsTo::kScaled,
                         NoiseOf(p.channels), NoiseOf(p.channels));
            ran += CheckGrid(text, graphs % 3 == 0 ? 3 : 1);
            ++graphs;
          }
        }
      }
    }
  }
  EXPECT_GT(graphs, 500);
  EXPECT_GE(ran, graphs);
}

/// Every bit differs, or none does: counts of bytes and of 16 bits are at their ends.
TEST(BinaryGrid, SumsAtTheirEnds) {
  for (const int64_t channels : {1, 31, 33, 64, 127, 129, 256, 512, 3072, 7424}) {
    for (const SumsTo results : {SumsTo::kScaled, SumsTo::kBits}) {
      GridShape p{.height = 5, .width = 4, .channels = channels, .outputs = 32};
      p.taps_high = p.taps_wide = channels == 3072 ? 5 : 3;
      p.edge = ", auto_pad=\"SAME_UPPER\"";
      // Bits behind the last channel are none of the weights'.
      for (const std::string_view weights : {" = splat 18446744073709551615", " = splat 0"})
        EXPECT_GE(CheckGrid(GridText(p, results, " = noise(0, 0)", weights), 3), 1);
    }
  }
}

}  // namespace
}  // namespace fettle::kernels
