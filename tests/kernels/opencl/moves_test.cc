// opencl.move.units against the oracle: rows of operators that move runs, zeros among them, runs of
// every word, and refusals; opencl.move.concat: more operands than a launch takes, constants,
// pixels; opencl.gather.slices: elements of every width; opencl.pad.lookup: every mode and width;
// opencl.scatter: updates that work-items share.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClGatherSlices;
extern const KernelDesc kOpenClMoveChannels;
extern const KernelDesc kOpenClMoveConcat;
extern const KernelDesc kOpenClMoveCopy;
extern const KernelDesc kOpenClMoveUnits;
extern const KernelDesc kOpenClPadLookup;
extern const KernelDesc kOpenClScatterElements;
extern const KernelDesc kOpenClScatterTuples;

namespace {

/// A picture rolled along both axes, then cut into windows: `channels` neighbours stay together.
std::string Rolled(int64_t channels) {
  return fmt::format(
      "input %x: f32[2x6x4x{0}]\nconst %z: i64[1] = 0\nconst %two: i64[1] = 2\n"
      "const %e: i64[1] = 9\nconst %one: i64[1] = 1\nconst %s: i64[6] = 2 2 3 2 2 {0}\n"
      "const %t: i64[3] = 8 6 {0}\n"
      "%a = Slice(%x, %two, %e, %one)\n%b = Slice(%x, %z, %two, %one)\n"
      "%c = Concat(%a, %b) {{axis=1}}\n%f = Slice(%c, %one, %e, %two)\n"
      "%g = Slice(%c, %z, %one, %two)\n%h = Concat(%f, %g) {{axis=2}}\n%r = Reshape(%h, %s)\n"
      "%w = Transpose(%r) {{perm=[0,1,3,2,4,5]}}\n%y = Reshape(%w, %t)\noutput %y\n",
      channels);
}

/// Every other pixel of both axes, the four kinds beside each other.
constexpr std::string_view kMerged =
    "input %x: f32[1x4x6x16]\nconst %z: i64[1] = 0\nconst %o: i64[1] = 1\nconst %t: i64[1] = 2\n"
    "const %e: i64[1] = 9\n%a = Slice(%x, %z, %e, %o, %t)\n%b = Slice(%x, %o, %e, %o, %t)\n"
    "%c = Slice(%a, %z, %e, %t, %t)\n%d = Slice(%b, %z, %e, %t, %t)\n"
    "%f = Slice(%a, %o, %e, %t, %t)\n%g = Slice(%b, %o, %e, %t, %t)\n"
    "%y = Concat(%c, %d, %f, %g) {axis=-1}\noutput %y\n";

constexpr std::string_view kPadded =
    "input %x: f32[3x5x10]\nconst %p: i64[6] = 0 2 0 1 1 0\n%a = Pad(%x, %p)\n"
    "%y = Transpose(%a) {perm=[1,0,2]}\noutput %y\n";

using OpenClMoveUnits = OneOpenClKernel<kOpenClMoveUnits>;

TEST_F(OpenClMoveUnits, AgreesWithTheOracle) {
  for (const int64_t channels : {8, 9, 10, 12, 96}) Check(Rolled(channels));
  Check(kMerged);
  Check(kPadded);
}

TEST_F(OpenClMoveUnits, RefusesWhatItCannotMove) {
  EXPECT_EQ(RefusalOf("input %x: f32[4x8]\n%y = Transpose(%x)\noutput %y\n"),
            "computes rows of operators from one tensor to one only");
  EXPECT_EQ(RefusalOf("input %x: f32[4x8x16]\n%a = Transpose(%x)\n"
                      "%y = Transpose(%a) {perm=[1,0,2]}\noutput %y\n"),
            "rows of the last axis do not stay together");
  EXPECT_EQ(RefusalOf(Rolled(4)), "rows of the last axis do not stay together");
  EXPECT_EQ(RefusalOf("input %x: f32[4x8]\nconst %c: f32[1x8]\n%a = Concat(%x, %c) {axis=0}\n"
                      "%y = Concat(%a, %x) {axis=0}\noutput %y\n"),
            "a constant is among what is moved");
  EXPECT_EQ(RefusalOf("input %x: f32[4x8]\n%a = Relu(%x)\n%y = Relu(%a)\noutput %y\n"),
            "computes moves of elements only");
}

using OpenClMoveCopy = OneOpenClKernel<kOpenClMoveCopy>;

/// Rows and pixels in all pairs, f32 and f16; channels that are quads, and others.
TEST_F(OpenClMoveCopy, TransposesBetweenRowsAndPixels) {
  for (const int channels : {3, 4, 7, 96}) {
    SCOPED_TRACE(channels);
    Check(fmt::format("input %x: f32[2x{}x3x5]\n%y = Transpose(%x) {{perm=[0,2,3,1]}}\noutput %y\n",
                      channels),
          8);
    Check(fmt::format("input %x: f32[2x3x5x{}]\n%y = Transpose(%x) {{perm=[0,3,1,2]}}\noutput %y\n",
                      channels),
          8);
  }
}

/// Of a constant, and of elements of every width: words of four where runs are.
TEST_F(OpenClMoveCopy, MovesWordsWhereRunsAllow) {
  for (const std::string_view type : {"u8", "i16", "i32", "i64"})
    Check(
        fmt::format("input %x: {0}[3x5x8]\n%y = Transpose(%x) {{perm=[1,0,2]}}\noutput %y\n", type),
        1);
  Check("input %x: f32[15x6]\n%y = Transpose(%x) {perm=[1,0]}\noutput %y\n");
  Check(
      "const %z: i64[1] = 0\nconst %o: i64[1] = 1\nconst %e: i64[1] = 9\ninput %x: f32[5x9]\n"
      "%y = Slice(%x, %o, %e, %o)\noutput %y\n");
}

using OpenClMoveChannels = OneOpenClKernel<kOpenClMoveChannels>;

/// Several outputs, several operands, every other channel, volumes, rows of pixels.
TEST_F(OpenClMoveChannels, AgreesWithTheOracle) {
  Check(
      "input %x: f32[2x16x3x5]\nconst %s: i64[3] = 7 3 6\n"
      "%a, %b, %c = Split(%x, %s) {axis=1}\noutput %a\noutput %b\noutput %c\n");
  Check(
      "input %x: f32[2x5x3x4]\ninput %z: f32[2x2x3x4]\ninput %w: f32[2x9x3x4]\n"
      "%y = Concat(%x, %z, %w) {axis=1}\noutput %y\n");
  Check(
      "input %x: f32[3x21x2x3]\nconst %b: i64[1] = 2\nconst %e: i64[1] = 99\n"
      "const %s: i64[1] = 2\nconst %o: i64[1] = 1\n%y = Slice(%x, %b, %e, %o, %s)\noutput %y\n");
  Check(
      "input %x: f32[1x5x2x3x4]\ninput %z: f32[1x6x2x3x4]\n%y = Concat(%x, %z) {axis=1}\n"
      "output %y\n");
  Check("input %x: f32[2x5x1]\ninput %z: f32[2x6x1]\n%y = Concat(%x, %z) {axis=1}\noutput %y\n");
}

TEST_F(OpenClMoveChannels, LeavesTheRestToOthers) {
  EXPECT_EQ(RefusalOf("input %x: f32[2x16x3x5]\nconst %s: i64[2] = 8 8\n"
                      "%a, %b = Split(%x, %s) {axis=1}\noutput %a\noutput %b\n"),
            "it moves whole pixels");
  EXPECT_EQ(RefusalOf("input %x: f32[2x16x3x5]\nconst %s: i64[2] = 2 3\n"
                      "%a, %b = Split(%x, %s) {axis=-1}\noutput %a\noutput %b\n"),
            "other planes than the first output's");
  EXPECT_EQ(RefusalOf("input %x: f32[2x7x3x5]\n%y = Transpose(%x) {perm=[0,1,3,2]}\noutput %y\n"),
            "moves other elements than whole channels");
  EXPECT_EQ(RefusalOf("input %x: f32[2x7x3x5]\nconst %z: f32[2x7x3x5]\n"
                      "%y = Concat(%x, %z) {axis=1}\noutput %y\n"),
            "a constant is among what is moved");
  // Beside pixels of another rank an operand is row-major.
  constexpr std::string_view kOtherRank = "another rank than the first output's";
  EXPECT_EQ(RefusalOf("input %x: f32[1x50x4]\nconst %a: i64[1] = 3\n%y = Unsqueeze(%x, %a)\n"
                      "output %y\n"),
            kOtherRank);
  EXPECT_EQ(RefusalOf("input %x: f32[1x50x4x1]\nconst %a: i64[1] = 3\n%y = Squeeze(%x, %a)\n"
                      "output %y\n"),
            kOtherRank);
}

/// What one launch cannot read is joined by copies, or in rows.
TEST_F(OpenClMoveChannels, ReadsAtMost16Tensors) {
  std::string text, parts;
  for (int i = 0; i < 17; ++i) {
    text += fmt::format("input %x{}: f32[1x3x2x2]\n", i);
    parts += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
    if (i == 15) Check(text + "%y = Concat(" + parts + ") {axis=1}\noutput %y\n");
  }
  EXPECT_EQ(RefusalOf(text + "%y = Concat(" + parts + ") {axis=1}\noutput %y\n"),
            "17 operands: expected 1 to 16");
}

using OpenClConcat = OneOpenClKernel<kOpenClMoveConcat>;

TEST_F(OpenClConcat, JoinsMoreThanOneLaunchTakes) {
  constexpr int kParts = 150;
  std::string text, parts;
  for (int i = 0; i < kParts; ++i) {
    text += fmt::format("input %x{}: f32[2x{}x3]\n", i, 1 + i % 3);
    parts += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  Check(text + "%y = Concat(" + parts + ") {axis=1}\noutput %y\n", 2);
}

TEST_F(OpenClConcat, JoinsWordsOfSeveralElements) {
  Check("input %x: i64[3x2]\ninput %z: i64[3x4]\n%y = Concat(%x, %z) {axis=-1}\noutput %y\n", 1);
}

TEST_F(OpenClConcat, KeepsPixelsWhereChannelsAreQuads) {
  Check("input %x: f32[2x8x3x5]\ninput %z: f32[2x3x3x5]\n%y = Concat(%x, %z) {axis=1}\noutput %y\n",
        4);
  Check("input %x: f32[2x6x3x5]\ninput %z: f32[2x6x3x2]\n%y = Concat(%x, %z) {axis=3}\noutput %y\n",
        4);
  Check("input %x: f32[2x6x3x5]\ninput %z: f32[2x4x3x5]\n%y = Concat(%x, %z) {axis=1}\noutput %y\n",
        2);
}

using OpenClGatherSlices = OneOpenClKernel<kOpenClGatherSlices>;

/// Of every width, those of four bits among them, which lie in bytes of their own.
TEST_F(OpenClGatherSlices, MovesElementsOfEveryWidth) {
  for (const std::string_view type : {"i4", "u4", "bool", "u8", "i16", "i32", "i64"})
    Check(fmt::format("input %x: {}[5x3]\nconst %k: i64[2] = 4 -2\n"
                      "%y = Gather(%x, %k) {{axis=0}}\noutput %y\n",
                      type),
          1);
}

using OpenClPadLookup = OneOpenClKernel<kOpenClPadLookup>;

/// Rows and pixels, in f32 and in f16.
TEST_F(OpenClPadLookup, AgreesWithTheOracleInEachMode) {
  for (const std::string_view mode : {"reflect", "edge", "wrap", "constant"})
    Check(fmt::format("input %x: f32[2x6x5x7]\nconst %p: i64[8] = 0 0 2 -1 0 0 3 4\n"
                      "%y = Pad(%x, %p) {{mode=\"{}\"}}\noutput %y\n",
                      mode),
          4);
  // A fill, given and not, which lanes behind the last channel must not get.
  Check(
      "input %x: f32[1x8x5x7]\nconst %p: i64[8] = 0 0 1 0 0 0 0 2\nconst %v: f32[] = 3\n"
      "%y = Pad(%x, %p, %v)\noutput %y\n",
      4);
  Check(
      "input %x: f32[1x6x5x7]\nconst %p: i64[8] = 0 0 1 0 0 0 0 2\ninput %v: f32[]\n"
      "%y = Pad(%x, %p, %v)\noutput %y\n",
      2);
}

/// Kept innermost axes of every width, more axes than two, and what a view is.
TEST_F(OpenClPadLookup, MovesWhatLiesTogether) {
  for (const int channels : {1, 2, 6, 12})
    Check(fmt::format("input %x: u8[3x4x5x{}]\nconst %p: i64[8] = 1 2 0 0 0 1 3 0\n"
                      "const %v: u8[] = 7\n%y = Pad(%x, %p, %v)\noutput %y\n",
                      channels),
          1);
  Check(
      "input %x: i64[2x3x2x3x2x3]\nconst %p: i64[12] = 1 0 1 0 0 0 0 0 0 1 0 0\n"
      "%y = Pad(%x, %p) {mode=\"edge\"}\noutput %y\n",
      1);
  EXPECT_EQ(RefusalOf("input %x: f32[4x3]\nconst %p: i64[4] = -1 0 0 0\n%y = Pad(%x, %p)\n"
                      "output %y\n"),
            "elements that lie together stay as they are");
}

/// Many updates for each element, in every number of parts that share them.
template <typename Check>
void CheckParts(const std::string& text, const Check& check) {
  for (const std::string_view rule : {"none", "add", "max"}) {
    const std::string group =
        fmt::format("input %x: f32[11x3x7]\n{} {{reduction=\"{}\"}}\noutput %y\n", text, rule);
    for (const int64_t parts : {2, 8, 32}) check(group, Params{{"parts", parts}});
  }
}

using OpenClScatterTuples = OneOpenClKernel<kOpenClScatterTuples>;

TEST_F(OpenClScatterTuples, SharedByItemsAgreesWithTheOracle) {
  CheckParts(
      "input %i: i64[1100x2] = noise(-3, 2)\ninput %u: f32[1100x7]\n%y = ScatterND(%x, %i, %u)",
      [this](const std::string& group, const Params& parts) { Check(group, 2, parts); });
}

using OpenClScatterElements = OneOpenClKernel<kOpenClScatterElements>;

TEST_F(OpenClScatterElements, SharedByItemsAgreesWithTheOracle) {
  CheckParts(
      "input %i: i32[11x150x5] = noise(-3, 2)\ninput %u: f32[11x150x5]\n"
      "%y = ScatterElements(%x, %i, %u)",
      [this](std::string group, const Params& parts) {
        Check(group.replace(group.find('{'), 1, "{axis=1, "), 2, parts);
      });
}

TEST_F(OpenClScatterElements, RefusesPartsThatCutNoGroup) {
  const CaseGroup group = ParseGroup(
      "input %x: f32[5]\ninput %i: i64[9] = noise(0, 4)\ninput %u: f32[9]\n"
      "%y = ScatterElements(%x, %i, %u)\noutput %y\n");
  const auto states = CandidatesOf(kOpenClScatterElements, *group.graph, *device_).value();
  const ParamSpace space =
      SpaceOf(kOpenClScatterElements, {group.graph, states.front(), 1}, *device_);
  for (const int64_t parts : {-2, 0, 3, 64}) EXPECT_FALSE(space.check({{"parts", parts}}).ok());
}

}  // namespace
}  // namespace fettle::kernels
