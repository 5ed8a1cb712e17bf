// The text form: print and parse are inverse, and bad text fails with its line.
#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace fettle::ir {
namespace {

using ::testing::HasSubstr;

/// A table in which every name but "Unknown" has a row.
const OpDesc* AnyOperator(std::string_view name) {
  static std::map<std::string, OpDesc, std::less<>> rows;
  if (name == "Unknown") return nullptr;
  const auto row = rows.try_emplace(std::string(name)).first;
  row->second.name = row->first;
  return &row->second;
}

Graph ParseOk(std::string_view text) {
  Result<Graph> graph = Parse(text, AnyOperator);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  return graph.ok() ? std::move(*graph) : Graph();
}

void ExpectRoundTrip(std::string_view text) {
  const Graph graph = ParseOk(text);
  EXPECT_TRUE(Verify(graph).ok());
  EXPECT_EQ(Print(graph), text);
}

std::string ParseError(std::string_view text) {
  const Result<Graph> graph = Parse(text, AnyOperator);
  if (graph.ok()) return "parsed";
  EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument);
  return graph.status().message();
}

TEST(Text, PlainGraphRoundTrips) {
  ExpectRoundTrip(
      "graph 'net'\n"
      "input %x: f32[1x3x8x8]\n"
      "input %n: i64[?'batch'x?]\n"
      "input %r: f32\n"
      "input %u\n"
      "const %s: i64[4] = 1 3 -1 8\n"
      "const %z: f32[100x100] = splat 0.5\n"
      "const %e: f32[0]\n"
      "const %b: bool[2] = 1 0\n"
      "%y: f32[1x8x4x4] = Conv(%x, %z, _, %s) {pads=[1,1,1,1], strides=[2,2]}\n"
      "%a, _, %c = Split(%y)\n"
      "output %y\n"
      "output %c\n");
}

TEST(Text, EmptyConstantKeepsItsShape) {
  const Graph graph = ParseOk("const %e: f32[0x3]\noutput %e\n");
  EXPECT_EQ(graph.value(0).constant->shape(), (Shape{0, 3}));
}

TEST(Text, AttributesRoundTrip) {
  ExpectRoundTrip(
      "graph ''\n"
      "input %x\n"
      "%y = Op(%x) {c=const f32[2] = 1.0 -2.5e-07, e=ints[], f=0.5, g=floats[], h=strings[], i=1, "
      "j=-3, k=inf, l=-inf, m=nan, o=[1.0,2.5], p=0.1f, q=1e+20, r=0.1, s=\"te\\\"xt\\\\\\x0a\", "
      "t=[\"a\",\"b\"], v=2.0, z=const i8[] = -4}\n"
      "output %y\n");
}

TEST(Text, KindsOfNumbersStayApart) {
  const Graph graph = ParseOk("%y = Op() {a=1, b=1.0, c=[1,2], d=[1,2.0], e=nan}\n");
  const Attributes& attributes = graph.node(0).attributes;
  EXPECT_TRUE(std::holds_alternative<int64_t>(*attributes.Find("a")));
  EXPECT_TRUE(std::holds_alternative<double>(*attributes.Find("b")));
  EXPECT_EQ(attributes.Ints("c"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(attributes.Floats("d"), (std::vector<double>{1, 2}));
  EXPECT_TRUE(std::isnan(attributes.Float("e")));
}

TEST(Text, FloatsSurviveExactly) {
  Graph graph;
  const std::vector<float> values = {0.1f, 1e-45f, 3.4028235e38f, -0.0f, 16777217.0f, INFINITY};
  const Result<Tensor> tensor = Tensor::FromVector(Shape{6}, values);
  graph.outputs = {graph.AddConstant("c", Constant::FromTensor(*tensor))};
  graph.AddNode(
      {.op = AnyOperator("Op"), .attributes = {{"d", 0.1}, {"f", static_cast<double>(0.1f)}}});
  const Graph parsed = ParseOk(Print(graph));
  const Constant& constant = *parsed.value(0).constant;
  EXPECT_EQ(constant.Hash(), graph.value(0).constant->Hash());
  EXPECT_EQ(parsed.node(0).attributes.Float("d"), 0.1);
  EXPECT_EQ(parsed.node(0).attributes.Float("f"), static_cast<double>(0.1f));
}

TEST(Text, NamesAreQuotedAndAnonymousValuesNumbered) {
  ExpectRoundTrip(
      "graph 'a\\'b'\n"
      "input %'x:0'\n"
      "input %'#0'\n"
      "%#0 = Relu(%'x:0')\n"
      "%#1, _ = 'odd op'(%#0, %'#0') {'a b'=1}\n"
      "NoOutput(%#1)\n"
      "output %#1\n");
  EXPECT_EQ(ParseOk("%#0 = Op()\noutput %#0\n").value(0).name, "");
}

TEST(Text, RepeatedNamesStillParse) {
  Graph graph;
  graph.inputs = {graph.AddValue({.name = "x"}), graph.AddValue({.name = "x"})};
  EXPECT_EQ(Print(graph), "graph ''\ninput %x\ninput %#0\n");
}

TEST(Text, SubGraphsNest) {
  ExpectRoundTrip(
      "graph 'outer'\n"
      "input %c: bool[]\n"
      "%y = If(%c) {else_branch=\n"
      "  graph 'else'\n"
      "  const %k: f32[1] = 2.0\n"
      "  output %k\n"
      "  end, then_branch=\n"
      "  graph 'then'\n"
      "  input %c\n"
      "  %z = Loop(%c) {body=\n"
      "    graph 'body'\n"
      "    input %i\n"
      "    output %i\n"
      "    end}\n"
      "  output %z\n"
      "  end}\n"
      "output %y\n");
}

TEST(Text, LeftOutContentsAreSeededNoise) {
  const char* text = "const %w: f32[300]\nconst %v: f32[300]\nconst %i: i64[100]\n";
  const Graph a = ParseOk(text), b = ParseOk(text);
  EXPECT_EQ(a.value(0).constant->Hash(), b.value(0).constant->Hash());
  EXPECT_NE(a.value(0).constant->Hash(), a.value(1).constant->Hash());
  double low = 9, high = -9;
  for (int64_t i = 0; i < 300; ++i) {
    low = std::min(low, a.value(0).constant->GetDouble(i));
    high = std::max(high, a.value(0).constant->GetDouble(i));
    EXPECT_EQ(a.value(2).constant->GetInt(i % 100), 0);
  }
  EXPECT_TRUE(low >= -1 && low < -0.8 && high <= 1 && high > 0.8) << low << " " << high;
}

TEST(Text, NoiseRangesHold) {
  NoiseHints hints;
  const Result<Graph> graph = Parse(
      "input %x: i64[64] = noise(3, 5)\ninput %b: bool[64]\nconst %i: i8[64] = noise(-2, 2)\n",
      AnyOperator, &hints);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Result<std::vector<Tensor>> inputs = NoiseInputs(*graph, 7, hints);
  ASSERT_TRUE(inputs.ok());
  std::vector<int> seen(6), constant_seen(5);
  for (int64_t i = 0; i < 64; ++i) {
    const int64_t drawn = (*inputs)[0].view().GetInt(i);
    ASSERT_TRUE(drawn >= 3 && drawn <= 5);
    ++seen[static_cast<size_t>(drawn)];
    const int64_t element = graph->value(2).constant->GetInt(i);
    ASSERT_TRUE(element >= -2 && element <= 2);
    ++constant_seen[static_cast<size_t>(element + 2)];
  }
  EXPECT_TRUE(seen[3] && seen[4] && seen[5]);
  EXPECT_TRUE(constant_seen[0] && constant_seen[2] && constant_seen[4]);
}

TEST(Text, BlankAndCommentLinesAreSkipped) {
  EXPECT_EQ(ParseOk("# first\n\n  \ngraph 'g'\n# second\ninput %x\n\noutput %x").outputs.size(),
            1u);
}

TEST(Text, ErrorsNameTheLine) {
  EXPECT_EQ(ParseError("input %x\n%y = Relu(%q)\n"), "line 2: value 'q' is not defined");
  EXPECT_EQ(ParseError("input %x\ninput %x\n"), "line 2: value 'x' is defined twice");
  EXPECT_EQ(ParseError("const %x: i64[2] = 1\n"), "line 1: expected 2 elements, got 1");
  EXPECT_EQ(ParseError("const %x: u4[1] = 16\n"), "line 1: '16' does not fit type u4");
  EXPECT_EQ(ParseError("const %x: i4[1] = -9\n"), "line 1: '-9' does not fit type i4");
  EXPECT_EQ(ParseError("input %x: f33[2]\n"), "line 1: unknown type 'f33'");
  EXPECT_THAT(ParseError("%y = Op() {a=[]}\n"), HasSubstr("an empty list needs its type"));
  EXPECT_THAT(ParseError("%y = Op() {a=1, a=2}\n"), HasSubstr("set twice"));
  EXPECT_THAT(ParseError("%y = Op() {a=[1,\"b\"]}\n"), HasSubstr("mixes"));
  EXPECT_THAT(ParseError("%y = Op() {a=graph\n"), HasSubstr("no 'end'"));
  EXPECT_THAT(ParseError("%y = Op() {s=\"abc\n"), HasSubstr("no end"));
  EXPECT_THAT(ParseError("const %x: string[2]\n"), HasSubstr("type with elements"));
  EXPECT_THAT(ParseError("const %x: f32[2x?]\n"), HasSubstr("concrete"));
  EXPECT_THAT(ParseError("const %x: f32[99999999999999999999]\n"), HasSubstr("out of range"));
  EXPECT_THAT(ParseError("const %x: f32[1000000x1000000]\n"), HasSubstr("exceed"));
  EXPECT_THAT(ParseError("const %x: f32[2] = noise(1, nan)\n"), HasSubstr("not a range"));
  EXPECT_THAT(ParseError("output _\n"), HasSubstr("left out"));
  EXPECT_THAT(ParseError("input %x y\n"), HasSubstr("end of the line"));
}

TEST(Text, OperatorsComeFromTheTable) {
  const Status status = Parse("input %x\n%y = Unknown(%x)\n", AnyOperator).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(), "line 2: operator 'Unknown' is not supported");
  const Graph graph = ParseOk("%y = Op()\n%z = Op()\n");
  EXPECT_EQ(graph.node(0).op, graph.node(1).op);
  EXPECT_EQ(graph.node(0).op, AnyOperator("Op"));
}

TEST(Text, DeepNestingIsRefused) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "%y = Op() {a=graph\n";
  EXPECT_THAT(ParseError(text), HasSubstr("too deeply"));
}

TEST(Text, TruncatedTextNeverCrashes) {
  const std::string text =
      "graph 'g'\ninput %'a b': f32[?'n'x3] = noise(0, 1)\nconst %w: f16[2] = 1 nan\n"
      "%y: f32[2], _ = Op(%'a b', _) {a=[1.0,2.0], b=const i8[1] = splat 3, c=graph\n"
      "input %q\noutput %q\nend, s=\"\\x41\"}\noutput %y\n";
  for (size_t length = 0; length <= text.size(); ++length) {
    const Result<Graph> graph = Parse(std::string_view(text).substr(0, length), AnyOperator);
    EXPECT_TRUE(!graph.ok() || Verify(*graph).ok());
  }
}

}  // namespace
}  // namespace fettle::ir
