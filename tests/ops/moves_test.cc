// Operators that move elements: graphs of small constants, their outputs written out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// "2x3: 1 2 3 4 5 6" for each output, or the failure's message.
std::string Eval(const std::string& text) {
  Result<ir::Graph> graph = Parse(text);
  if (!graph.ok()) return graph.status().message();
  const Result<std::vector<Tensor>> outputs = EvaluateGraph(*graph, {});
  if (!outputs.ok()) return outputs.status().message();
  std::string result;
  for (const Tensor& tensor : outputs.value()) {
    if (!result.empty()) result += "; ";
    result += tensor.shape().ToString() + ":";
    for (int64_t i = 0; i < tensor.elements(); ++i)
      result += fmt::format(" {}", tensor.view().GetDouble(i));
  }
  return result;
}

TEST(ReshapeTest, CopiesZeroAndTakesTheRest) {
  EXPECT_EQ(Eval("const %x: f32[2x3] = 1 2 3 4 5 6\nconst %s: i64[3] = 0 -1 1\n"
                 "%y = Reshape(%x, %s)\noutput %y\n"),
            "2x3x1: 1 2 3 4 5 6");
  EXPECT_EQ(Eval("const %x: f32[0x6] =\nconst %s: i64[3] = 0 2 -1\n"
                 "%y = Reshape(%x, %s)\noutput %y\n"),
            "0x2x3:");
}

TEST(ReshapeTest, RefusesAnotherElementCount) {
  EXPECT_EQ(Eval("const %x: f32[2x3] = 1 2 3 4 5 6\nconst %s: i64[2] = 4 -1\n"
                 "%y = Reshape(%x, %s)\noutput %y\n"),
            "node (Reshape): shape 2x3 does not reshape to [4,-1]");
}

TEST(ReshapeTest, SqueezesAndUnsqueezes) {
  EXPECT_EQ(Eval("const %x: f32[1x2x1] = 1 2\nconst %a: i64[1] = -1\n"
                 "%y = Squeeze(%x, %a)\n%z = Squeeze(%x)\noutput %y\noutput %z\n"),
            "1x2: 1 2; 2: 1 2");
  EXPECT_EQ(Eval("const %x: f32[2] = 1 2\nconst %a: i64[2] = -1 0\n"
                 "%y = Unsqueeze(%x, %a)\noutput %y\n"),
            "1x2x1: 1 2");
}

TEST(ReshapeTest, ShapeHasAClampedRange) {
  EXPECT_EQ(Eval("const %x: f32[1x2x1] = 1 2\n%y = Shape(%x) {start=-2, end=9}\n%s = Size(%x)\n"
                 "output %y\noutput %s\n"),
            "2: 2 1; scalar: 2");
}

TEST(ReshapeTest, ExpandsAndTiles) {
  EXPECT_EQ(Eval("const %x: f32[2x1] = 1 2\nconst %s: i64[3] = 2 1 2\n"
                 "%y = Expand(%x, %s)\noutput %y\n"),
            "2x2x2: 1 1 2 2 1 1 2 2");
  EXPECT_EQ(Eval("const %x: f32[1x2] = 1 2\nconst %s: i64[2] = 2 2\n"
                 "%y = Tile(%x, %s)\noutput %y\n"),
            "2x4: 1 2 1 2 1 2 1 2");
}

TEST(TransposeTest, FollowsThePermutation) {
  EXPECT_EQ(Eval("const %x: f32[1x2x3] = 1 2 3 4 5 6\n%y = Transpose(%x) {perm=[2,0,1]}\n"
                 "output %y\n"),
            "3x1x2: 1 4 2 5 3 6");
  EXPECT_EQ(Eval("const %x: f32[1x2] = 1 2\n%y = Transpose(%x) {perm=[0,0]}\noutput %y\n"),
            "node (Transpose): attribute 'perm': [0,0] is not a permutation of 2 axes");
}

TEST(ConcatTest, JoinsAndSplits) {
  EXPECT_EQ(Eval("const %a: i32[2x1] = 1 2\nconst %b: i32[2x2] = 3 4 5 6\n"
                 "%y = Concat(%a, %b) {axis=-1}\noutput %y\n"),
            "2x3: 1 3 4 2 5 6");
  EXPECT_EQ(Eval("const %x: i32[5] = 1 2 3 4 5\n%a, %b, %c = Split(%x) {num_outputs=3}\n"
                 "output %a\noutput %b\noutput %c\n"),
            "2: 1 2; 2: 3 4; 1: 5");
  EXPECT_EQ(Eval("const %x: i32[5] = 1 2 3 4 5\n%a, %b = Split(%x)\noutput %a\noutput %b\n"),
            "node (Split): 5 elements do not split into 2 equal parts");
}

TEST(SliceTest, StepsBackwardsAndClamps) {
  EXPECT_EQ(Eval("const %x: i32[5] = 1 2 3 4 5\nconst %s: i64[1] = -1\nconst %e: i64[1] = -99\n"
                 "const %a: i64[1] = 0\nconst %t: i64[1] = -2\n"
                 "%y = Slice(%x, %s, %e, %a, %t)\noutput %y\n"),
            "3: 5 3 1");
  EXPECT_EQ(Eval("const %x: i32[2x3] = 1 2 3 4 5 6\nconst %s: i64[1] = 1\n"
                 "const %e: i64[1] = 9223372036854775807\nconst %a: i64[1] = -1\n"
                 "%y = Slice(%x, %s, %e, %a)\noutput %y\n"),
            "2x2: 2 3 5 6");
}

TEST(GatherTest, TakesRowsFromBothEnds) {
  EXPECT_EQ(Eval("const %x: i32[2x3] = 1 2 3 4 5 6\nconst %i: i64[2] = -1 0\n"
                 "%y = Gather(%x, %i) {axis=1}\noutput %y\n"),
            "2x2: 3 1 6 4");
  EXPECT_EQ(Eval("const %x: i32[3] = 1 2 3\nconst %i: i64[] = 3\n%y = Gather(%x, %i)\n"
                 "output %y\n"),
            "node (Gather): index 3 is out of range for an axis of 3 elements");
}

TEST(GatherTest, ElementsAndTuples) {
  EXPECT_EQ(Eval("const %x: i32[2x2] = 1 2 3 4\nconst %i: i64[2x2] = 0 0 -1 0\n"
                 "%y = GatherElements(%x, %i) {axis=1}\noutput %y\n"),
            "2x2: 1 1 4 3");
  EXPECT_EQ(Eval("const %x: i32[2x2x2] = 0 1 2 3 4 5 6 7\nconst %i: i64[2x1] = 1 0\n"
                 "%y = GatherND(%x, %i) {batch_dims=1}\noutput %y\n"),
            "2x2: 2 3 4 5");
}

TEST(ScatterTest, ReducesDuplicates) {
  EXPECT_EQ(Eval("const %x: i32[3] = 1 2 3\nconst %i: i64[3] = 1 1 -1\nconst %u: i32[3] = 5 6 7\n"
                 "%y = ScatterElements(%x, %i, %u) {reduction=\"add\"}\n"
                 "%z = ScatterElements(%x, %i, %u)\noutput %y\noutput %z\n"),
            "3: 1 13 10; 3: 1 6 7");
  EXPECT_EQ(Eval("const %x: u8[2x2] = 1 2 3 4\nconst %i: i64[1x1] = -1\n"
                 "const %u: u8[1x2] = 100 200\n%y = ScatterND(%x, %i, %u) {reduction=\"mul\"}\n"
                 "output %y\n"),
            "2x2: 1 2 44 32");
}

TEST(GenerateTest, FillsAndRanges) {
  EXPECT_EQ(Eval("const %s: i64[2] = 1 3\n%y = ConstantOfShape(%s) {value=const i32[1] = 7}\n"
                 "%z = ConstantOfShape(%s)\noutput %y\noutput %z\n"),
            "1x3: 7 7 7; 1x3: 0 0 0");
  EXPECT_EQ(Eval("const %a: i32[] = 10\nconst %b: i32[] = 3\nconst %d: i32[] = -3\n"
                 "%y = Range(%a, %b, %d)\n%z = Range(%b, %a, %d)\noutput %y\noutput %z\n"),
            "3: 10 7 4; 0:");
  EXPECT_EQ(Eval("const %a: i64[] = 0\nconst %b: i64[] = 3\nconst %d: i64[] = 0\n"
                 "%y = Range(%a, %b, %d)\noutput %y\n"),
            "node (Range): start, limit and delta give no sequence of sensible length");
}

TEST(GenerateTest, OneHotAndTriangles) {
  EXPECT_EQ(Eval("const %i: i64[3] = 1 -1 5\nconst %d: i64[] = 3\nconst %v: f32[2] = 0.5 2.0\n"
                 "%y = OneHot(%i, %d, %v)\noutput %y\n"),
            "3x3: 0.5 2 0.5 0.5 0.5 2 0.5 0.5 0.5");
  EXPECT_EQ(Eval("const %x: i32[2x3] = 1 2 3 4 5 6\nconst %k: i64[] = 1\n%y = Trilu(%x, %k)\n"
                 "%z = Trilu(%x) {upper=0}\noutput %y\noutput %z\n"),
            "2x3: 0 2 3 0 0 6; 2x3: 1 0 0 4 5 0");
  EXPECT_EQ(Eval("const %x: i32[2x3] = 1 2 3 4 5 6\n%y = EyeLike(%x) {k=1}\noutput %y\n"),
            "2x3: 0 1 0 0 0 1");
}

TEST(SelectTest, RanksTheBestAndTheirPositions) {
  EXPECT_EQ(Eval("const %x: f32[5] = 3 1 3 nan 2\nconst %k: i64[1] = 4\n%v, %i = TopK(%x, %k)\n"
                 "output %v\noutput %i\n"),
            "4: nan 3 3 2; 4: 3 0 2 4");
  EXPECT_EQ(Eval("const %x: i32[3] = 3 1 2\nconst %k: i64[1] = 4\n%v, %i = TopK(%x, %k)\n"
                 "output %v\noutput %i\n"),
            "node (TopK): input 'K': 4 of 3 elements cannot be taken");
}

TEST(SelectTest, FindsByValue) {
  EXPECT_EQ(Eval("const %x: i32[2x2] = 0 5 6 0\n%y = NonZero(%x)\noutput %y\n"), "2x2: 0 1 1 0");
  EXPECT_EQ(Eval("const %x: i32[5] = 4 2 4 1 2\n%y, %i, %n, %c = Unique(%x) {sorted=0}\n"
                 "output %y\noutput %i\noutput %n\noutput %c\n"),
            "3: 4 2 1; 3: 0 1 3; 5: 0 1 0 2 1; 3: 2 2 1");
  EXPECT_EQ(Eval("const %x: i32[2x3] = 1 2 3 4 5 6\nconst %c: bool[2] = 0 1\n"
                 "%y = Compress(%x, %c) {axis=1}\noutput %y\n"),
            "2x1: 2 5");
}

TEST(SelectTest, ReversesAndWritesSequences) {
  EXPECT_EQ(Eval("const %x: i32[3x2] = 1 2 3 4 5 6\nconst %l: i64[2] = 3 2\n"
                 "%y = ReverseSequence(%x, %l)\noutput %y\n"),
            "3x2: 5 4 3 2 1 6");
  EXPECT_EQ(Eval("const %x: i32[1x3x1] = 1 2 3\nconst %u: i32[1x2x1] = 8 9\n"
                 "const %w: i64[1] = 2\n%y = TensorScatter(%x, %u, %w) {mode=\"circular\"}\n"
                 "output %y\n"),
            "1x3x1: 9 2 8");
  EXPECT_EQ(Eval("const %x: i32[1x3x1] = 1 2 3\nconst %u: i32[1x2x1] = 8 9\n"
                 "const %w: i64[1] = 2\n%y = TensorScatter(%x, %u, %w)\noutput %y\n"),
            "node (TensorScatter): write index 2 is out of range");
}

/// Kernels read the diagonal as it is.
TEST(Trilu, TakesItsDiagonalInInt64Alone) {
  for (const char* type : {"i32", "u16", "f32", "i64"}) {
    const std::string text =
        fmt::format("input %x: f32[3x3]\ninput %k: {}[]\n%y = Trilu(%x, %k)\noutput %y\n", type);
    ir::Graph graph = Parse(text).value();
    EXPECT_EQ(InferGraph(graph).ok(), std::string_view(type) == "i64") << type;
  }
}

}  // namespace
}  // namespace fettle::ops
