// Operators over space refuse what does not fit, and agree with values worked out by hand.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/op.h"
#include "ops/pad/op.h"
#include "ops/resize/op.h"
#include "ops/window.h"

namespace fettle::ops {
namespace {

Status InferText(std::string_view text) {
  Result<ir::Graph> graph = Parse(text);
  if (!graph.ok()) return graph.status();
  return InferGraph(*graph);
}

std::string OutputShape(std::string_view text) {
  Result<ir::Graph> graph = Parse(text);
  if (!graph.ok()) return graph.status().message();
  const Status status = InferGraph(*graph);
  return status.ok() ? graph->value(graph->outputs[0]).shape->ToString() : status.message();
}

TEST(Space, RefusesWhatDoesNotFit) {
  const std::string_view bad[] = {
      "input %x: f32[1x3x4x4]\nconst %w: f32[2x3x5x5]\n%y = Conv(%x, %w)\noutput %y\n",
      "input %x: f32[1x3x4x4]\nconst %w: f32[2x3x3x3]\n%y = Conv(%x, %w) {strides=[0,1]}\n"
      "output %y\n",
      "input %x: f32[1x3x4x4]\nconst %w: f32[2x3x3x3]\n%y = Conv(%x, %w) {pads=[1,1]}\n"
      "output %y\n",
      "input %x: f32[1x3x4x4]\nconst %w: f32[2x3x3x3]\n%y = Conv(%x, %w) {group=2}\noutput %y\n",
      "input %x: f32[1x3x4x4]\nconst %w: f32[2x3x3x3]\n%y = ConvTranspose(%x, %w)\noutput %y\n",
      "input %x: f32[1x3x4x4]\n%y = MaxPool(%x)\noutput %y\n",
      "input %x: f32[1x3x4x4]\n%y = MaxPool(%x) {kernel_shape=[5,5]}\noutput %y\n",
      "input %x: f32[1x3x4x4]\nconst %s: f32[4] = 1 1 -2 2\n%y = Resize(%x, _, %s)\noutput %y\n",
      "input %x: f32[1x3x4x4]\nconst %s: f32[3] = 1 2 2\n%y = Resize(%x, _, %s)\noutput %y\n",
      "input %x: f32[1x3x4x4]\nconst %s: f32[4] = 1 1 2 2\n"
      "%y = Resize(%x, _, %s) {mode=\"foo\"}\noutput %y\n",
      "input %x: f32[1x3x4x4]\n%y = DepthToSpace(%x) {blocksize=2}\noutput %y\n",
      "input %x: f32[2x3]\nconst %p: i64[4] = 0 -2 0 -2\n%y = Pad(%x, %p)\noutput %y\n",
      "input %x: f32[2x0]\nconst %p: i64[4] = 0 1 0 0\n%y = Pad(%x, %p) {mode=\"edge\"}\noutput "
      "%y\n",
      "input %x: f32[5x3x7]\nconst %w: f32[1x20x6]\nconst %r: f32[1x20x5]\n"
      "%y = LSTM(%x, %w, %r) {hidden_size=5}\noutput %y\n",
  };
  for (std::string_view text : bad) {
    EXPECT_EQ(InferText(text).code(), StatusCode::kInvalidModel) << text;
  }
}

TEST(Space, NamesTheAttributeAndWhatItExpects) {
  const Status status = InferText(
      "input %x: f32[1x1x2x2]\nconst %s: f32[4] = 1 1 2 2\n"
      "%y = Resize(%x, _, %s) {mode=\"foo\"}\noutput %y\n");
  EXPECT_NE(status.message().find("attribute 'mode': expected nearest|linear|cubic, got 'foo'"),
            std::string::npos)
      << status.message();
}

TEST(Space, CeilModeDropsTheWindowThatStartsInThePadding) {
  EXPECT_EQ(OutputShape("input %x: f32[1x1x5x5]\n%y = MaxPool(%x) {ceil_mode=1, "
                        "kernel_shape=[2,2], strides=[2,2]}\noutput %y\n"),
            "1x1x3x3");
  EXPECT_EQ(OutputShape("input %x: f32[1x1x2x2]\n%y = AveragePool(%x) {ceil_mode=1, "
                        "kernel_shape=[1,1], strides=[3,3], pads=[0,0,0,0]}\noutput %y\n"),
            "1x1x1x1");
}

TEST(Space, ScalesRoundAsFloat32) {
  EXPECT_EQ(OutputShape("input %x: f32[1x1x10x10]\nconst %s: f32[4] = 1 1 0.7 0.7\n"
                        "%y = Resize(%x, _, %s)\noutput %y\n"),
            "1x1x7x7");
}

TEST(Space, InsideTapsSkipTheTapsInThePadding) {
  const Window window = {
      .kernel = {3}, .strides = {2}, .dilations = {2}, .pad_begin = {3}, .pad_end = {3}};
  const TapRange first = InsideTaps(window, 0, 0, 5);   // taps at -3, -1, 1
  const TapRange second = InsideTaps(window, 0, 3, 5);  // taps at 3, 5, 7
  EXPECT_EQ(first.begin, 2);
  EXPECT_EQ(first.end, 3);
  EXPECT_EQ(second.begin, 0);
  EXPECT_EQ(second.end, 1);
}

TEST(Space, PadSourcesOfEachMode) {
  PadAttributes pad = {.begin = {2}, .end = {1}, .output = Shape{6}};
  const Shape input{3};
  EXPECT_EQ(PadSources(pad, input, 0, 0, 6), (std::vector<int64_t>{-1, -1, 0, 1, 2, -1}));
  pad.mode = PadMode::kEdge;
  EXPECT_EQ(PadSources(pad, input, 0, 0, 6), (std::vector<int64_t>{0, 0, 0, 1, 2, 2}));
  pad.mode = PadMode::kReflect;
  EXPECT_EQ(PadSources(pad, input, 0, 0, 6), (std::vector<int64_t>{2, 1, 0, 1, 2, 1}));
  pad.mode = PadMode::kWrap;
  EXPECT_EQ(PadSources(pad, input, 0, 1, 6), (std::vector<int64_t>{2, 0, 1, 2, 0}));
}

TEST(Space, TapsOfOneAxisSumToOne) {
  ir::Node node;
  node.op = "Resize"_op;
  node.attributes = {{"mode", std::string("cubic")}, {"antialias", int64_t{1}}};
  const Result<ResizeAttributes> resize =
      ReadResize(node, Shape{1, 17}, {.roi = {}, .scales = {}, .sizes = {1, 5}});
  ASSERT_TRUE(resize.ok()) << resize.status().message();
  const AxisTaps taps = MakeAxisTaps(*resize, 17, 1);
  ASSERT_EQ(taps.weight.size(), 5u * static_cast<size_t>(taps.taps));
  for (size_t i = 0; i < 5; ++i) {
    double sum = 0;
    for (int t = 0; t < taps.taps; ++t)
      sum += taps.weight[i * static_cast<size_t>(taps.taps) + static_cast<size_t>(t)];
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
  EXPECT_TRUE(MakeAxisTaps(*resize, 1, 0).IsIdentity(1));
  EXPECT_FALSE(taps.IsIdentity(17));
}

}  // namespace
}  // namespace fettle::ops
