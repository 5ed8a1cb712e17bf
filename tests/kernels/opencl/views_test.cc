// opencl.elementwise.views against the oracle: rotary embeddings, repeated heads, joined parts,
// numbers, tables that shapes do not change; and refusals.
#include <random>

#include "kernels/opencl/elementwise/divisor.h"
#include "kernels/opencl/elementwise/view_text.h"
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClElementwiseViews;

namespace {

/// Heads of queries, turned by their positions as exporters write it, `repeats` times each.
std::string Rotary(int64_t length, int64_t repeats) {
  return fmt::format(
      "input %x: f32[1x{0}x16]\ninput %cos: f32[1x1x{0}x8]\ninput %sin: f32[1x1x{0}x8]\n"
      "const %s: i64[4] = 1 {0} 2 8\nconst %z: i64[1] = 0\nconst %h: i64[1] = 4\n"
      "const %e: i64[1] = 8\nconst %a: i64[1] = -1\nconst %o: i64[1] = 1\nconst %k: f32[] = 0.35\n"
      "const %w: i64[5] = 1 2 {1} {0} 8\nconst %t: i64[4] = 1 {2} {0} 8\nconst %two: i64[1] = 2\n"
      "%r = Reshape(%x, %s)\n%q = Transpose(%r) {{perm=[0,2,1,3]}}\n"
      "%f = Slice(%q, %z, %h, %a, %o)\n%b = Slice(%q, %h, %e, %a, %o)\n%n = Neg(%b)\n"
      "%c = Concat(%n, %f) {{axis=-1}}\n%p = Mul(%q, %cos)\n%m = Mul(%c, %sin)\n%u = Add(%p, %m)\n"
      "%v = Mul(%u, %k)\n%five = Unsqueeze(%v, %two)\n%g = Expand(%five, %w)\n"
      "%y = Reshape(%g, %t)\noutput %y\n",
      length, repeats, 2 * repeats);
}

/// Quarters of a picture change places and are scaled by column.
constexpr std::string_view kShuffled =
    "input %x: f32[3x6x4]\nconst %z: i64[1] = 0\nconst %two: i64[1] = 2\nconst %e: i64[1] = 9\n"
    "const %a: i64[1] = 1\nconst %b: f32[4] = 1 -2 3 0.5\n%n = Sigmoid(%x)\n"
    "%f = Slice(%n, %z, %two, %a)\n%g = Slice(%n, %two, %e, %a)\n"
    "%c = Concat(%g, %x, %f) {axis=1}\n%t = Transpose(%c) {perm=[1,0,2]}\n%d = Add(%t, %b)\n"
    "%y = Relu(%d)\noutput %y\n";

constexpr std::string_view kChosen =
    "input %m: bool[4x1x6]\ninput %x: f16[6x4x3]\ninput %z: f16[]\n"
    "%t = Transpose(%x) {perm=[1,2,0]}\n%y = Where(%m, %t, %z)\noutput %y\n";

/// Windows of three by four of a picture, two apart, by indices along rows and along columns.
constexpr std::string_view kWindows =
    "input %x: f32[2x7x8]\nconst %r: i64[3x3] = 0 1 2 2 3 4 4 5 -1\n"
    "const %c: i64[4x3] = 0 2 4 1 3 5 2 4 6 3 5 7\n%g = Gather(%x, %r) {axis=1}\n"
    "%t = Transpose(%g) {perm=[0,2,1,3]}\n%h = Gather(%t, %c) {axis=3}\n"
    "%y = Transpose(%h) {perm=[0,1,4,3,2]}\noutput %y\n";

using OpenClViews = OneOpenClKernel<kOpenClElementwiseViews>;

TEST_F(OpenClViews, TurnByPositions) {
  Check(Rotary(5, 1));
  Check(Rotary(1, 3));
}

TEST_F(OpenClViews, JoinWhatIsComputedInParts) { Check(kShuffled); }

TEST_F(OpenClViews, ChooseByConditions) { Check(kChosen); }

/// As one strided copy, which no table of indices is read for.
TEST_F(OpenClViews, GatherWindows) {
  Check(kWindows);
  const ViewText text = WriteViews(*ParseGroup(kWindows).graph).value();
  EXPECT_EQ(text.operands.size(), 1u);
  EXPECT_EQ(text.body.find("READ"), text.body.rfind("READ"));
}

TEST(OpenClViewText, DividesByMultiplying) {
  constexpr int64_t kEnd = int64_t{1} << 31;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const int64_t divisor = std::max<int64_t>(2, (random() % kEnd) >> (random() % 31));
    const Divisor by = DivisorOf(divisor);
    const int64_t any = static_cast<int64_t>(random() % kEnd), whole = any / divisor * divisor;
    for (const int64_t a : {any, whole, std::max<int64_t>(whole - 1, 0), kEnd - 1}) {
      const uint64_t high = (static_cast<uint64_t>(a) * by.factor) >> 32;
      ASSERT_EQ(high >> by.shift, static_cast<uint64_t>(a / divisor)) << a << " / " << divisor;
    }
  }
}

TEST(OpenClViewText, RefusesIndicesThatDoNotCount) {
  const auto message = [](std::string_view indices) {
    return WriteViews(*ParseGroup(fmt::format("input %x: f32[2x5]\nconst %i: i64[{}\n"
                                              "%g = Gather(%x, %i) {{axis=1}}\n"
                                              "%y = Neg(%g)\noutput %y\n",
                                              indices))
                           .graph)
        .status()
        .message();
  };
  EXPECT_EQ(message("2x2] = 0 1 2 4"), "indices that are not evenly spaced within the axis");
  EXPECT_EQ(message("3] = 0 1 3"), "indices that are not evenly spaced within the axis");
  EXPECT_EQ(message("2x2] = 0 1 2 3"), "");
  EXPECT_EQ(WriteViews(*ParseGroup("input %x: f32[2x5]\ninput %i: i64[3]\n"
                                   "%g = Gather(%x, %i) {axis=1}\n%y = Neg(%g)\noutput %y\n")
                            .graph)
                .status()
                .message(),
            "indices that are only known at run time");
}

TEST(OpenClViewText, IsOneForAllShapesAndNumbers) {
  const auto text = [](const std::string& graph) {
    return WriteViews(*ParseGroup(graph).graph).value().body;
  };
  EXPECT_EQ(text(Rotary(5, 2)), text(Rotary(7, 3)));
}

TEST(OpenClViewText, RefusesWhatIsNeitherMovedNorElementWise) {
  const auto written = WriteViews(
      *ParseGroup("input %x: f32[2x3]\n%s = Softmax(%x)\n%y = Neg(%s)\noutput %y\n").graph);
  EXPECT_EQ(written.status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace fettle::kernels
