// Unfolds and folds of windows side by side as moves, and moves that cancel.
#include "passes/rewrite/unfolds.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "equivalence.h"

namespace fettle::passes {
namespace {

std::string Indexed(std::string_view shape, std::string_view indices, int axis) {
  return fmt::format(
      "input %x: f32[{}]\nconst %i: i64[{}\n%y = Gather(%x, %i) {{axis={}}}\noutput %y\n", shape,
      indices, axis);
}

TEST(UnfoldsToTransposes, IndicesThatCountARangeOut) {
  // Windows of two, of three in three axes, in the order of the data, of a part, from behind.
  for (const auto& [text, ops] :
       {std::pair(Indexed("2x6x3", "2x3] = 0 2 4 1 3 5", 1), "Reshape Transpose"),
        {Indexed("8x2", "2x2x2] = 0 4 2 6 1 5 3 7", 0), "Reshape Transpose"},
        {Indexed("2x3x8", "2x1x3] = 1 3 5 2 4 6", -1), "Slice Reshape Transpose"},
        {Indexed("2x6", "3x2] = 0 1 2 3 4 5", 1), "Reshape"},
        {Indexed("2x6", "2x3] = -6 -4 -2 -5 -3 -1", 1), "Reshape Transpose"}}) {
    EXPECT_EQ(Ops(Rewrite(UnfoldsToTransposes, text)), ops) << text;
    EXPECT_EQ(Ops(Rewrite(UnfoldsToTransposes, text, false)), "Gather");
  }
  // Windows that overlap, an element left out, two in turn, backwards, one axis.
  for (const std::string& text :
       {Indexed("2x6", "2x5] = 0 1 2 3 4 1 2 3 4 5", 1), Indexed("2x6", "2x2] = 0 3 1 4", 1),
        Indexed("2x4", "2x2] = 0 2 3 1", 1), Indexed("2x4", "2x2] = 3 1 2 0", 1),
        Indexed("2x6", "6] = 0 2 4 1 3 5", 1)})
    EXPECT_EQ(Ops(Rewrite(UnfoldsToTransposes, text)), "Gather") << text;
}

TEST(UnfoldsToTransposes, WindowsThatFillAPicture) {
  constexpr std::string_view kFold =
      "input %x: f32[2x18x{}]\nconst %s: i64[2] = {}\nconst %b: i64[2] = 2 3\n"
      "%y = Col2Im(%x, %s, %b) {{{}}}\noutput %y\n";
  const auto ops = [&](int columns, std::string_view image, std::string_view attributes) {
    return Ops(Rewrite(UnfoldsToTransposes, fmt::format(kFold, columns, image, attributes)));
  };
  EXPECT_EQ(ops(6, "4 9", "strides=[2,3]"), "Reshape Transpose Reshape");
  EXPECT_EQ(ops(6, "5 9", "strides=[2,3]"), "Col2Im");  // a row that no window meets
  EXPECT_EQ(ops(12, "4 13", "strides=[2,2], dilations=[1,1]"), "Col2Im");  // overlapping
  EXPECT_EQ(ops(6, "2 7", "strides=[2,3], pads=[1,1,1,1]"), "Col2Im");
  EXPECT_EQ(ops(2, "4 5", "strides=[2,3], dilations=[1,2]"), "Col2Im");
}

TEST(CancelMoves, OrdersThatComeBack) {
  const auto moves = [](std::string_view last) {
    return fmt::format(
        "input %x: f32[2x12x6]\nconst %a: i64[5] = 2 4 3 3 2\nconst %b: i64[3] = 2 6 12\n"
        "const %c: i64[5] = 2 3 2 4 3\n%r = Reshape(%x, %a)\n%t = Transpose(%r) "
        "{{perm=[0,2,4,1,3]}}\n%s = Reshape(%t, %b)\n%u = Reshape(%s, %c)\n"
        "%v = Transpose(%u) {{perm={}}}\n%y = Relu(%v)\noutput %y\noutput %s\n",
        last);
  };
  // Back in order, and in another one.
  EXPECT_EQ(Ops(Rewrite(CancelMoves, moves("[0,3,1,4,2]"))),
            "Reshape Transpose Reshape Reshape Relu");
  EXPECT_EQ(Ops(Rewrite(CancelMoves, moves("[0,3,1,2,4]"))),
            "Reshape Transpose Reshape Reshape Transpose Relu");
  EXPECT_EQ(Ops(Rewrite(CancelMoves, moves("[0,3,1,4,2]"), false)),
            "Reshape Transpose Reshape Reshape Transpose Relu");
}

/// A row of moves of one value, some of which undo what was done before.
class RandomMoves {
 public:
  explicit RandomMoves(uint32_t seed) : random_(seed) {
    for (int axis = Below(2) + 3; axis > 0; --axis) dims_.push_back(Below(4) + 1);
    text_ = fmt::format("input %v0: f32[{}]\n", fmt::join(dims_, "x"));
  }
  std::string Text(int moves) {
    for (int move = 0; move < moves; ++move) {
      const Dims before = dims_;
      std::vector<int64_t> perm(dims_.size());
      std::iota(perm.begin(), perm.end(), 0);
      std::shuffle(perm.begin(), perm.end(), random_);
      Transpose(perm);
      if (Below(2) == 0) Reshape(Regrouped());
      if (Below(2) == 0) continue;
      // Back, but for two axes in every third row.
      Dims moved;
      for (const int64_t axis : perm) moved.push_back(before[axis]);
      Reshape(moved);
      std::vector<int64_t> back(perm.size());
      for (size_t i = 0; i < perm.size(); ++i) back[perm[i]] = static_cast<int64_t>(i);
      if (Below(3) == 0) std::swap(back.front(), back.back());
      Transpose(back);
    }
    return text_ + fmt::format("%y = Relu(%v{})\noutput %y\n", last_);
  }

 private:
  int Below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }
  void Transpose(const std::vector<int64_t>& perm) {
    Dims moved;
    for (const int64_t axis : perm) moved.push_back(dims_[axis]);
    dims_ = moved;
    text_ += fmt::format("%v{} = Transpose(%v{}) {{perm=[{}]}}\n", last_ + 1, last_,
                         fmt::join(perm, ","));
    ++last_;
  }
  void Reshape(const Dims& dims) {
    dims_ = dims;
    text_ += fmt::format("const %s{1}: i64[{0}] = {2}\n%v{1} = Reshape(%v{3}, %s{1})\n",
                         dims.size(), last_ + 1, fmt::join(dims, " "), last_);
    ++last_;
  }
  /// The same elements along other axes: neighbours joined, fours halved.
  Dims Regrouped() {
    Dims dims;
    for (const int64_t extent : dims_) {
      if (extent == 4 && Below(2) == 0) {
        dims.insert(dims.end(), {2, 2});
      } else if (!dims.empty() && Below(3) == 0) {
        dims.back() *= extent;
      } else {
        dims.push_back(extent);
      }
    }
    return dims;
  }

  std::mt19937 random_;
  Dims dims_;
  std::string text_;
  int last_ = 0;
};

TEST(CancelMoves, RandomRowsKeepTheirMeaning) {
  int cancelled = 0, kept = 0;
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    const std::string text = RandomMoves(seed).Text(static_cast<int>(seed % 3) + 1);
    const ir::Graph before = ParseGraph(text), after = Rewrite(CancelMoves, text);
    ++(Ops(after) == Ops(before) ? kept : cancelled);
  }
  EXPECT_GT(cancelled, 1000);
  EXPECT_GT(kept, 1000);
}

TEST(UnfoldsToTransposes, RandomIndicesKeepTheirMeaning) {
  std::mt19937 random(7);
  int moved = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto below = [&](uint32_t end) { return static_cast<int64_t>(random() % end); };
    const Dims extents = {below(3) + 1, below(3) + 1, below(3) + 1};
    std::vector<int64_t> order = {0, 1, 2}, steps(3), indices;
    std::shuffle(order.begin(), order.end(), random);
    for (int64_t step = 1; const int64_t axis : order) {
      steps[axis] = step;
      step *= extents[axis];
    }
    const int64_t first = below(3), left = below(3);
    for (int64_t at = 0; at < Shape(extents).elements(); ++at)
      indices.push_back(first + at / extents[2] / extents[1] * steps[0] +
                        at / extents[2] % extents[1] * steps[1] + at % extents[2] * steps[2]);
    // In every third an element is another one.
    if (below(3) == 0) indices[random() % indices.size()] = below(3);
    const std::string text =
        Indexed(fmt::format("2x{}x3", Shape(extents).elements() + first + left + 3),
                fmt::format("{}] = {}", fmt::join(extents, "x"), fmt::join(indices, " ")), 1);
    moved += Ops(Rewrite(UnfoldsToTransposes, text)) == "Gather" ? 0 : 1;
  }
  EXPECT_GT(moved, 1500);
}

}  // namespace
}  // namespace fettle::passes
