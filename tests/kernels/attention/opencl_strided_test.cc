// opencl.attention.rows and opencl.attention.mma against the oracle: operands as exporters cut them
// from one product, scores with sums, masks and numbers, sizes that fill nothing, other tiles, and
// refusals.
#include "tests/kernels/opencl/mma_device.h"
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClAttentionMma, kOpenClAttentionRows;

namespace {

/// Queries, keys and values of two pictures from one tensor, as PyTorch exports its own attention.
constexpr std::string_view kFused =
    "input %x: f32[11x2x48]\nconst %s: i64[5] = 11 2 1 3 16\n"
    "const %z: i64[1] = 0\nconst %o: i64[1] = 1\nconst %t: i64[1] = 2\nconst %e: i64[1] = 3\n"
    "const %h: i64[3] = 11 4 8\nconst %f: f32[] = 0.5\nconst %g: f32[1] = 0.7\n"
    "const %u: i64[3] = 22 1 16\n"
    "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[3,0,1,2,4]}\n"
    "%q0 = Slice(%b, %z, %o, %z)\n%k0 = Slice(%b, %o, %t, %z)\n%v0 = Slice(%b, %t, %e, %z)\n"
    "%q1 = Reshape(%q0, %h)\n%q2 = Transpose(%q1) {perm=[1,0,2]}\n%q3 = Mul(%q2, %f)\n"
    "%k1 = Reshape(%k0, %h)\n%k2 = Transpose(%k1) {perm=[1,0,2]}\n"
    "%k3 = Transpose(%k2) {perm=[0,2,1]}\n%k4 = Mul(%g, %k3)\n%p = MatMul(%q3, %k4)\n"
    "%n = Softmax(%p) {axis=-1}\n%v1 = Reshape(%v0, %h)\n%v2 = Transpose(%v1) {perm=[1,0,2]}\n"
    "%r = MatMul(%n, %v2)\n%w = Transpose(%r) {perm=[1,0,2]}\n%y = Reshape(%w, %u)\noutput %y\n";

/// Windows with sums by head and by window, under another shape for a while, and a quotient.
constexpr std::string_view kWindows =
    "input %x: f32[6x7x72]\nconst %s: i64[5] = 6 7 3 3 8\nconst %bias: f32[1x3x7x7]\n"
    "const %mask: f32[1x2x1x7x7]\nconst %l: i64[5] = 3 2 3 7 7\nconst %m: i64[4] = 6 3 7 7\n"
    "const %z: i64[1] = 0\nconst %o: i64[1] = 1\nconst %t: i64[1] = 2\nconst %e: i64[1] = 3\n"
    "const %h: i64[4] = 6 3 7 8\nconst %d: f32[] = 2.5\nconst %u: i64[3] = 6 7 24\n"
    "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[2,0,3,1,4]}\n"
    "%q0 = Slice(%b, %z, %o, %z)\n%k0 = Slice(%b, %o, %t, %z)\n%v0 = Slice(%b, %t, %e, %z)\n"
    "%q = Reshape(%q0, %h)\n%k1 = Reshape(%k0, %h)\n%v = Reshape(%v0, %h)\n"
    "%k = Transpose(%k1) {perm=[0,1,3,2]}\n%p = MatMul(%q, %k)\n%p1 = Div(%p, %d)\n"
    "%p2 = Add(%p1, %bias)\n%p3 = Reshape(%p2, %l)\n%p4 = Add(%p3, %mask)\n%p5 = Reshape(%p4, %m)\n"
    "%n = Softmax(%p5) {axis=3}\n%r = MatMul(%n, %v)\n%w = Transpose(%r) {perm=[0,2,1,3]}\n"
    "%y = Reshape(%w, %u)\noutput %y\n";

/// Three operands of odd sizes as they are, and a mask that is read at run time.
constexpr std::string_view kMasked =
    "input %q: f32[2x3x5x6]\ninput %kt: f32[2x3x6x37]\ninput %v: f32[2x3x37x3]\n"
    "input %m: f32[2x1x1x37]\nconst %f: f32[] = 2.0\n%p = MatMul(%q, %kt)\n%b = Mul(%m, %f)\n"
    "%s = Add(%b, %p)\n%n = Softmax(%s)\n%y = MatMul(%n, %v)\noutput %y\n";

/// One query; one key.
constexpr std::string_view kOneQuery =
    "input %q: f32[1x16]\ninput %kt: f32[16x130]\ninput %v: f32[130x8]\n%p = MatMul(%q, %kt)\n"
    "%n = Softmax(%p)\n%y = MatMul(%n, %v)\noutput %y\n";
constexpr std::string_view kOneKey =
    "input %q: f32[9x4]\ninput %kt: f32[4x1]\ninput %v: f32[1x5]\n%p = MatMul(%q, %kt)\n"
    "%n = Softmax(%p)\n%y = MatMul(%n, %v)\noutput %y\n";

using OpenClAttention = OneOpenClKernel<kOpenClAttentionRows>;

TEST_F(OpenClAttention, AgreesWithTheOracle) {
  for (const std::string_view group : {kFused, kWindows, kMasked, kOneQuery, kOneKey}) Check(group);
}

TEST_F(OpenClAttention, OtherTilesDoToo) {
  Check(kFused, 2, {{"rows", 16}, {"items", 32}});
  Check(kFused, 2, {{"rows", 4}, {"items", 128}});
  Check(kWindows, 2, {{"rows", 1}, {"items", 64}});
  Check(kMasked, 2, {{"rows", 2}, {"items", 256}});
}

/// Of f16, in vectors.
TEST_F(OpenClAttention, KeysAndValuesMayBeStaged) {
  const CaseGroup group = ParseGroup(kFused);
  const auto candidates = CandidatesOf(kOpenClAttentionRows, *group.graph, *device_).value();
  for (const StateAssignment& states : candidates) {
    KernelRun run{kOpenClAttentionRows, group, {group.graph, states, 1}, {}, ""};
    run.params = {{"rows", 4}, {"items", 64}, {"staged", 1}};
    const Status valid = SpaceOf(kOpenClAttentionRows, run.problem, *device_).check(run.params);
    if (states.outputs[0].storage == DType::kF16) {
      EXPECT_TRUE(CheckRun(run, *device_));
    } else {
      EXPECT_EQ(valid.message(), "staged: keys and values are not vectors of f16");
    }
  }
}

TEST_F(OpenClAttention, RefusesWhatItCannotCompute) {
  const std::string operands =
      "input %q: f32[2x5x6]\ninput %kt: f32[2x6x7]\ninput %v: f32[2x7x3]\n%p = MatMul(%q, %kt)\n";
  EXPECT_EQ(RefusalOf(operands + "%n = Softmax(%p) {axis=1}\n%y = MatMul(%n, %v)\noutput %y\n"),
            "a Softmax over another axis");
  EXPECT_EQ(
      RefusalOf(operands + "%r = Relu(%p)\n%n = Softmax(%r)\n%y = MatMul(%n, %v)\noutput %y\n"),
      "Relu before the Softmax");
  EXPECT_EQ(RefusalOf(operands + "%n = Softmax(%p)\noutput %n\n"),
            "no product of the probabilities");
  EXPECT_EQ(RefusalOf("input %q: f32[2x5x6]\ninput %kt: f32[1x6x7]\ninput %v: f32[2x7x3]\n"
                      "%p = MatMul(%q, %kt)\n%n = Softmax(%p)\n%y = MatMul(%n, %v)\noutput %y\n"),
            "keys that several heads share");
  EXPECT_EQ(RefusalOf("input %x: f32[4x4]\n%y = Relu(%x)\noutput %y\n"),
            "computes Softmax between products only");
}

TEST_F(OpenClAttention, TilesThatDoNotFitAreRefused) {
  const CaseGroup group = ParseGroup(kMasked);
  const auto states = CandidatesOf(kOpenClAttentionRows, *group.graph, *device_).value();
  const Problem problem{group.graph, states.front(), 1};
  const ParamSpace space = SpaceOf(kOpenClAttentionRows, problem, *device_);
  EXPECT_EQ(space.check({{"rows", 16}, {"items", 8}}).message(), "8 work-items for 16 rows");
}

class OpenClFlash : public OpenClMma {
 protected:
  void CheckTile(std::string_view group, int64_t rows, int64_t tile, int64_t parts) {
    Check(kOpenClAttentionMma, group, {{"rows", rows}, {"tile", tile}, {"parts", parts}});
  }
};

TEST_F(OpenClFlash, AgreesWithTheOracle) {
  for (const std::string_view group : {kFused, kWindows, kMasked, kOneQuery, kOneKey})
    Check(kOpenClAttentionMma, group);
}

/// More keys than a tile has, of sizes that fill neither instructions nor vectors.
TEST_F(OpenClFlash, TilesFollowEachOther) {
  const auto text = [](int64_t queries, int64_t size, int64_t keys, int64_t v_size) {
    return fmt::format(
        "input %q: f32[2x{0}x{1}]\ninput %k: f32[2x{2}x{1}]\ninput %v: f32[2x{2}x{3}]\n"
        "%kt = Transpose(%k) {{perm=[0,2,1]}}\n%p = MatMul(%q, %kt)\n%n = Softmax(%p)\n"
        "%y = MatMul(%n, %v)\noutput %y\n",
        queries, size, keys, v_size);
  };
  CheckTile(text(35, 24, 75, 40), 16, 16, 1);
  CheckTile(text(35, 24, 75, 40), 32, 32, 2);
  CheckTile(text(70, 17, 150, 9), 64, 64, 4);
  CheckTile(text(20, 128, 197, 128), 16, 64, 2);
  CheckTile(kWindows, 16, 32, 1);
}

/// A row that sees no key is NaN, and one that sees keys behind the first tile alone is not.
TEST_F(OpenClFlash, KeysMayBeUnseen) {
  std::string mask;
  for (int i = 0; i < 3 * 40; ++i) mask += i < 40 || (i < 80 && i % 40 < 39) ? " -inf" : " 0";
  CheckTile("input %q: f32[3x8]\ninput %kt: f32[8x40]\ninput %v: f32[40x8]\nconst %m: f32[3x40] =" +
                mask +
                "\n%p = MatMul(%q, %kt)\n%s = Add(%p, %m)\n%n = Softmax(%s)\n%y = MatMul(%n, "
                "%v)\noutput %y\n",
            16, 16, 1);
}

TEST_F(OpenClFlash, RefusesWhatHasNoRoom) {
  const auto refusal = [&](int64_t size) {
    const std::string text = fmt::format(
        "input %q: f32[20x{0}]\ninput %kt: f32[{0}x30]\ninput %v: f32[30x8]\n%p = MatMul(%q, %kt)\n"
        "%n = Softmax(%p)\n%y = MatMul(%n, %v)\noutput %y\n",
        size);
    return CandidatesOf(kOpenClAttentionMma, *ParseGroup(text).graph, *device_).status().message();
  };
  EXPECT_EQ(refusal(128), "");
  EXPECT_EQ(refusal(129), "rows of 129 and 8: at most 128 have room");
  const CaseGroup group = ParseGroup(kMasked);
  const Problem problem{
      group.graph, CandidatesOf(kOpenClAttentionMma, *group.graph, *device_).value().front(), 1};
  const ParamSpace space = SpaceOf(kOpenClAttentionMma, problem, *device_);
  EXPECT_EQ(space.check({{"rows", 16}, {"tile", 32}, {"parts", 4}}).message(),
            "tile: expected at least 64 keys for 4 parts, got 32");
  EXPECT_EQ(space.check({{"rows", 16}, {"tile", 256}, {"parts", 2}}).message(),
            "tile: expected at most 64 keys a part, got 128");
}

}  // namespace
}  // namespace fettle::kernels
