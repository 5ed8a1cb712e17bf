// What spans count of each pixel, less what is taken back, is what lies inside of the image.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ir/text.h"
#include "kernels/cpu/binary/geometry.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Window {
  int64_t height = 1, width = 1, kernel = 3, stride = 1, dilation = 1;
  int64_t before = 1, after = 1;
};

ops::BinaryProduct ProductOf(const Window& w) {
  ir::Graph graph =
      ops::Parse(fmt::format("input %x: u64[2x{}x{}x1]\nconst %w: u64[8x3x{}x1]\n"
                             "const %r: f32[3x8]\n%y = BinaryConv(%x, %w, %r) {{channels=64, "
                             "strides=[1,{}], dilations=[1,{}], pads=[1,{},1,{}]}}\noutput %y\n",
                             w.height, w.width, w.kernel, w.stride, w.dilation, w.before, w.after))
          .value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const ir::Node& node = graph.nodes()[0];
  return ops::ReadBinaryProduct(node, *graph.value(node.inputs[0]).shape,
                                *graph.value(node.inputs[1]).shape)
      .value();
}

/// Taps that a span counts of its pixel `p`.
std::vector<int32_t> Counted(const BitSpan& span, int32_t p, int64_t columns) {
  std::vector<int32_t> taps;
  const int64_t begin = p == 0 && (span.ends & kFirstEnd) != 0 ? 1 : 0;
  const int64_t end = columns - (p == span.pixels - 1 && (span.ends & kLastEnd) != 0 ? 1 : 0);
  for (int64_t line = span.line; line < span.line + span.lines; ++line) {
    for (int64_t column = begin; column < end; ++column)
      taps.push_back(static_cast<int32_t>(line * columns + column));
  }
  return taps;
}

/// Returns how many taps outside of the image are counted all the same.
int64_t ExpectInsideTaps(const Window& window) {
  const ops::BinaryProduct product = ProductOf(window);
  const BitGeometry geometry = BitGeometry::Make(product).value();
  const int64_t task = geometry.SpanTaskPixels(64);
  int64_t taken_back = 0;
  for (int64_t first = 0; first < geometry.pixels(); first += task) {
    const int64_t count = std::min(task, geometry.pixels() - first);
    std::vector<BitSpan> spans(static_cast<size_t>(count));
    spans.resize(static_cast<size_t>(geometry.FillSpans(first, count, spans.data())));
    std::vector<int32_t> classes(static_cast<size_t>(count));
    geometry.FillClasses(first, count, classes.data());
    int64_t pixel = 0;
    for (const BitSpan& span : spans) {
      EXPECT_EQ(span.first, pixel);
      for (int32_t i = 0; i < span.pixels * span.tiles; ++i, ++pixel) {
        const int32_t of = classes[static_cast<size_t>(pixel)];
        std::vector<int32_t> counted = Counted(span, i % span.pixels, geometry.columns());
        const std::vector<int32_t> outside = geometry.Outside(of, true);
        taken_back += std::ssize(outside);
        for (const int32_t tap : outside) EXPECT_EQ(std::erase(counted, tap), 1) << tap;
        std::vector<int32_t> inside(static_cast<size_t>(geometry.taps()));
        for (int32_t tap = 0; tap < std::ssize(inside); ++tap)
          inside[static_cast<size_t>(tap)] = tap;
        for (const int32_t tap : geometry.Outside(of, false)) std::erase(inside, tap);
        EXPECT_EQ(counted, inside) << "pixel " << first + pixel;
      }
    }
    EXPECT_EQ(pixel, count);
  }
  return taken_back;
}

TEST(BitSpans, CountWhatIsInsideOfTheImage) {
  for (const int64_t width : {1, 2, 3, 7, 8, 9, 14, 16, 17, 28, 70}) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2}) {
        for (const int64_t dilation : {1, 2}) {
          for (const int64_t before : {0, 1, 2}) {
            for (const int64_t after : {0, 1, 2}) {
              if (width + before + after <= (kernel - 1) * dilation) continue;
              SCOPED_TRACE(fmt::format("{} pixels, {} taps, stride {}, dilation {}, pads {} {}",
                                       width, kernel, stride, dilation, before, after));
              ExpectInsideTaps({4, width, kernel, stride, dilation, before, after});
            }
          }
        }
      }
    }
  }
}

TEST(BitSpans, OfShortLinesNothingIsTakenBack) {
  for (const int64_t width : {2, 3, 7, 8}) {
    EXPECT_EQ(ExpectInsideTaps({.height = 5, .width = width}), 0) << width;
    EXPECT_EQ(ExpectInsideTaps({.height = 5, .width = 2 * width, .stride = 2}), 0) << width;
  }
  EXPECT_GT(ExpectInsideTaps({.height = 5, .width = 14}), 0);
}

}  // namespace
}  // namespace fettle::kernels
