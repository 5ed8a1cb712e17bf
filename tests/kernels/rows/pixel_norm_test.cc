// opencl.norm.channels against the oracle: between pixels, from pixels to rows and back, of planes,
// lines and volumes, whole blocks of channels and not, however work-items share a pixel; and what
// it refuses.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClNormChannels;

namespace {

class OpenClChannelNorm : public OneOpenClKernel<kOpenClNormChannels> {};

/// As exporters spell it: channels last, rows normalised, channels second again.
std::string Turned(int channels, std::string_view plane, std::string_view norm) {
  return fmt::format(
      "input %x: f32[2x{0}x{1}]\nconst %s: f32[{0}]\nconst %t: f32[{0}]\n"
      "%l = Transpose(%x) {{perm=[0,2,3,1]}}\n%n = {2}\n%y = Transpose(%n) {{perm=[0,3,1,2]}}\n"
      "output %y\n",
      channels, plane, norm);
}

constexpr std::string_view kLayer = "LayerNormalization(%l, %s, %t) {epsilon=0.001}";

TEST_F(OpenClChannelNorm, PixelsAgreeWithTheOracle) {
  Check(Turned(24, "5x7", kLayer), 4);
  Check(Turned(13, "5x7", kLayer), 4);
  Check(Turned(3, "4x4", "LayerNormalization(%l, %s)"), 4);
  Check(Turned(40, "3x6", "RMSNormalization(%l, %s)"), 4);
}

TEST_F(OpenClChannelNorm, WorkItemsShareAPixel) {
  for (const int channels : {72, 70, 900}) {
    for (const auto& [items, columns] :
         {std::array{1, 1}, std::array{16, 16}, std::array{64, 16}, std::array{64, 1}}) {
      SCOPED_TRACE(fmt::format("{} channels, {} items, {} columns", channels, items, columns));
      Check(Turned(channels, "5x7", kLayer), 4, {{"items", items}, {"columns", columns}});
    }
  }
}

/// A view beside each Transpose: tokens of a picture and back.
TEST_F(OpenClChannelNorm, RowsAgreeWithTheOracle) {
  for (const int channels : {24, 22}) {
    const std::string scale = fmt::format("const %s: f32[{0}]\nconst %t: f32[{0}]\n", channels);
    const std::string to_rows = fmt::format(
        "input %x: f32[2x{0}x5x7]\n{1}const %v: i64[3] = 2 {0} 35\n%r = Reshape(%x, %v)\n"
        "%l = Transpose(%r) {{perm=[0,2,1]}}\n%y = LayerNormalization(%l, %s, %t)\noutput %y\n",
        channels, scale);
    const std::string from_rows = fmt::format(
        "input %x: f32[2x35x{0}]\n{1}const %v: i64[4] = 2 {0} 5 7\n"
        "%n = LayerNormalization(%x, %s, %t)\n%l = Transpose(%n) {{perm=[0,2,1]}}\n"
        "%y = Reshape(%l, %v)\noutput %y\n",
        channels, scale);
    for (const std::string& text : {to_rows, from_rows}) {
      Check(text, 4);
      Check(text, 4, {{"items", 16}, {"columns", 16}});
    }
  }
}

TEST_F(OpenClChannelNorm, LinesAndVolumesAgreeWithTheOracle) {
  Check(
      "input %x: f32[3x20x9]\nconst %s: f32[20]\n%l = Transpose(%x) {perm=[0,2,1]}\n"
      "%n = RMSNormalization(%l, %s)\n%y = Transpose(%n) {perm=[0,2,1]}\noutput %y\n",
      4);
  // Images of volumes there are none.
  Check(
      "input %x: f32[2x10x3x4x5]\nconst %s: f32[10]\nconst %t: f32[10]\n"
      "%l = Transpose(%x) {perm=[0,2,3,4,1]}\n%n = LayerNormalization(%l, %s, %t)\n"
      "%y = Transpose(%n) {perm=[0,4,1,2,3]}\noutput %y\n");
}

TEST_F(OpenClChannelNorm, RefusesWhatIsNoNormalisationOfChannels) {
  const std::string norm =
      "const %s: f32[6]\n%l = Transpose(%x) {perm=[0,2,3,1]}\n"
      "%n = LayerNormalization(%l, %s)\n";
  const std::string x = "input %x: f32[2x6x4x5]\n";
  EXPECT_EQ(RefusalOf(x + norm + "%y = Transpose(%n) {perm=[0,3,2,1]}\noutput %y\n"),
            "a Transpose of more than the channels");
  EXPECT_EQ(RefusalOf("input %x: f32[2x5x4x6]\nconst %s: f32[6]\n"
                      "%n = LayerNormalization(%x, %s)\noutput %n\n"),
            "computes normalisations beside a Transpose only");
  EXPECT_EQ(RefusalOf("input %x: f32[2x6x4x5]\nconst %s: f32[5]\n"
                      "%l = Transpose(%x) {perm=[0,2,1,3]}\n%y = LayerNormalization(%l, %s)\n"
                      "output %y\n"),
            "a view 2x4x6x5 that changes channels");
  // The rows are of the channels and a line.
  EXPECT_EQ(RefusalOf(x + "const %s: f32[5x6]\n%l = Transpose(%x) {perm=[0,2,3,1]}\n"
                          "%y = LayerNormalization(%l, %s) {axis=2}\noutput %y\n"),
            "rows of 30 are normalised");
  EXPECT_EQ(RefusalOf("input %x: f32[2x6x0x5]\nconst %s: f32[6]\n"
                      "%l = Transpose(%x) {perm=[0,2,3,1]}\n%y = LayerNormalization(%l, %s)\n"
                      "output %y\n"),
            "nothing to normalise");
  // Windows: the batch takes part of the plane.
  EXPECT_EQ(RefusalOf("input %x: f32[2x6x4x5]\nconst %s: f32[6]\nconst %v: i64[4] = 4 6 2 5\n"
                      "%r = Reshape(%x, %v)\n%l = Transpose(%r) {perm=[0,2,3,1]}\n"
                      "%y = LayerNormalization(%l, %s)\noutput %y\n"),
            "a view 4x6x2x5 that changes channels");
  EXPECT_EQ(RefusalOf(x + norm +
                      "const %v: i64[4] = 4 2 5 6\n%r = Reshape(%n, %v)\n"
                      "%y = Transpose(%r) {perm=[0,3,1,2]}\noutput %y\n"),
            "other pixels behind than before");
  EXPECT_EQ(RefusalOf("input %x: f32[2x6x4x5]\ninput %s: f32[6]\n"
                      "%l = Transpose(%x) {perm=[0,2,3,1]}\n%y = LayerNormalization(%l, %s)\n"
                      "output %y\n"),
            "several operands or results");
}

}  // namespace
}  // namespace fettle::kernels
