// What row-major convolutions finish their sums with: operands as large as the output, of a
// channel, of a column, of a pixel, and numbers, over whole planes and parts of planes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvPlanes;
extern const KernelDesc kCpuConvPlanesFlat;
extern const KernelDesc kCpuConvPointwiseRow;
extern const KernelDesc kCpuConvTransposePointwiseRow;

namespace {

/// Each finishes %c of shape [N, channels, space...]: {0} is that shape, {1} the channels and a 1
/// for each axis of the space, {2} the last extent, {3} the shape with one channel.
constexpr const char* kRowTails[] = {
    "%y = Gelu(%c)\n",
    "input %r: f32[{0}]\n%s = Add(%c, %r)\n%y = LeakyRelu(%s) {{alpha=0.1}}\n",
    "input %r: f32[{0}]\n%s = Sigmoid(%c)\n%t = Mul(%c, %s)\n%y = Add(%t, %r)\n",
    "const %k: f32[{1}]\ninput %r: f32[{0}]\n%s = Tanh(%c)\n%t = Mul(%s, %k)\n%y = Add(%t, %r)\n",
    "const %k: f32[{2}]\n%s = Sigmoid(%c)\n%y = Mul(%s, %k)\n",
    "input %r: f32[{3}]\n%s = Sigmoid(%c)\n%y = Mul(%s, %r)\n",
    "const %k: f32[] = 0.75\n%s = Tanh(%c)\n%y = Mul(%s, %k)\n",
};

enum class Taps { kOne, kMany, kApart };  // kApart: of a transposed convolution

struct TailDraw {
  Taps taps;
  int least_axes;
  std::mt19937& random;
  int below(int n) const { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  std::string Text() const {
    const bool transposed = taps == Taps::kApart;
    const int axes = least_axes + below(4 - least_axes), in = 1 + below(9), out = 1 + below(20),
              batch = 1 + below(2);
    const int most = axes == 1 ? 900 : axes == 2 ? 60 : 11;
    std::vector<int> x{batch, in}, y{batch, out}, w{transposed ? in : out, transposed ? out : in},
        strides, channel{out};
    for (int axis = 0; axis < axes; ++axis) {
      const int stride = transposed ? 1 + below(3) : 1 + below(3) / 2;
      const int kernel = transposed ? 1 + below(stride) : taps == Taps::kOne ? 1 : 2 + below(3);
      // Of the side that strides step along, the input of an ordinary one.
      const int few = 2 + below(transposed ? most / stride : most);
      const int many = (few - 1) * stride + kernel;
      x.push_back(transposed ? few : many);
      y.push_back(transposed ? many : few);
      w.push_back(kernel);
      strides.push_back(stride);
      channel.push_back(1);
    }
    std::vector<int> plane = y;
    plane[1] = 1;
    const std::string text = fmt::format(
        "input %x: f32[{}]\nconst %w: f32[{}]\nconst %b: f32[{}]\n"
        "%c = {}(%x, %w, %b) {{strides=[{}]}}\n",
        fmt::join(x, "x"), fmt::join(w, "x"), out, transposed ? "ConvTranspose" : "Conv",
        fmt::join(strides, ","));
    return text +
           fmt::format(fmt::runtime(kRowTails[below(std::size(kRowTails))]), fmt::join(y, "x"),
                       fmt::join(channel, "x"), y.back(), fmt::join(plane, "x")) +
           "output %y\n";
  }
};

void CheckTails(const KernelDesc& kernel, Taps taps, int least_axes, unsigned seed) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    std::mt19937 random(seed);
    for (int i = 0; i < 30; ++i) {
      const std::string text = TailDraw{taps, least_axes, random}.Text();
      SCOPED_TRACE(fmt::format("{}: {}", target, text));
      CheckKernel(kernel, text, {.atol = 5e-5, .rtol = 1e-5});
    }
  }
  ForceSimdTarget("");
}

TEST(RowTails, OfLines) { CheckTails(kCpuConvPlanes, Taps::kMany, 1, 1); }
TEST(RowTails, OfFlatPlanes) { CheckTails(kCpuConvPlanesFlat, Taps::kMany, 2, 2); }
TEST(RowTails, OfProducts) { CheckTails(kCpuConvPointwiseRow, Taps::kOne, 1, 3); }
TEST(RowTails, OfTransposedProducts) {
  CheckTails(kCpuConvTransposePointwiseRow, Taps::kApart, 1, 4);
}

}  // namespace
}  // namespace fettle::kernels
