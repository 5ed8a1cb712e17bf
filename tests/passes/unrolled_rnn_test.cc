// Recurrent layers that are written out step by step, and what only looks like one.
#include "passes/find/unrolled_rnn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "equivalence.h"

namespace fettle::passes {
namespace {

constexpr int kSteps = 5, kBatch = 2, kInput = 3, kHidden = 4;

/// What differs from a layer that is found.
struct Written {
  bool backwards = false, flipped = false, given_state = false, last_too = false;
  bool has_bias = true;
  int other_weights = -1;  // the step that has others
  int other_slice = -1;    // the step that reads the sums of its neighbour
  int read_state = -1;     // a step whose state is an output too
  int relu = -1;           // a step with another activation
  bool shuffled = false;   // the Concat joins in another order
  double first = 0.25;     // what is carried to the first step
};

std::string Numbers(int count, double first) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format(" {}", first + 0.07 * (i % 5) - 0.01 * i);
  return text;
}

std::string StepOf(const Written& w, int i) {
  const int at = w.backwards ? kSteps - 1 - i : i;
  const int slice = i == w.other_slice ? at + (at > 0 ? -1 : 1) : at;
  std::string text = fmt::format(
      "const %begin{0}: i64[1] = {1}\nconst %end{0}: i64[1] = {2}\n"
      "%cut{0} = Slice(%s, %begin{0}, %end{0}, %zero)\n%x{0} = Squeeze(%cut{0}, %zero)\n",
      i, slice, slice + 1);
  std::string carried = "%first";
  if (i > 0 || w.given_state) {
    const std::string before = i == 0 ? "%h" : fmt::format("%h{}", i - 1);
    text += fmt::format("const %r{0}: f32[{1}x{1}] ={2}\n%p{0} = MatMul({3}, %r{0})\n", i, kHidden,
                        Numbers(kHidden * kHidden, i == w.other_weights ? 0.3 : -0.2), before);
    carried = fmt::format("%p{}", i);
    if (w.has_bias) text += fmt::format("%b{0} = Add(%p{0}, %rb)\n", i);
    if (w.has_bias) carried = fmt::format("%b{}", i);
  }
  return text + fmt::format("%a{0} = Add({1}, %x{0})\n%h{0} = {2}(%a{0})\n", i, carried,
                            i == w.relu ? "Relu" : "Tanh");
}

std::string TextOf(const Written& w) {
  std::string text = fmt::format(
      "input %x: f32[{0}x{1}x{2}]\nconst %w: f32[{2}x{3}] ={4}\nconst %wb: f32[{3}] = 1 2 3 4\n"
      "const %rb: f32[{3}] = {5} {5} {5} {5}\nconst %zero: i64[1] = 0\n"
      "const %minus: i64[1] = -1\nconst %far: i64[1] = -1000\nconst %none: f32[] = {5}\n"
      "const %full: i64[3] = 1 {1} {3}\nconst %first: f32[1x{1}x{3}] ={6}\n",
      kSteps, kBatch, kInput, kHidden, Numbers(kInput * kHidden, -0.1), w.has_bias ? 0.25 : 0.0,
      Numbers(0, 0));
  std::string first;
  for (int i = 0; i < kBatch * kHidden; ++i) first += fmt::format(" {}", w.first);
  text = text.substr(0, text.size() - 1) + first + "\n";
  if (w.given_state) text = fmt::format("input %h: f32[1x{}x{}]\n", kBatch, kHidden) + text;
  text += "%m = MatMul(%x, %w)\n";
  text += w.flipped ? "%t = Add(%m, %wb)\n%s = Slice(%t, %minus, %far, %zero, %minus)\n"
                    : "%s = Add(%m, %wb)\n";
  std::vector<std::string> states;
  for (int i = 0; i < kSteps; ++i) {
    text += StepOf(w, i);
    states.push_back(fmt::format("%h{}", i));
  }
  if (w.backwards != w.flipped) std::reverse(states.begin(), states.end());
  if (w.shuffled) std::swap(states[1], states[2]);
  std::string joined;
  for (const std::string& state : states) joined += (joined.empty() ? "" : ", ") + state;
  text += fmt::format("%y = Concat({}) {{axis=0}}\noutput %y\n", joined);
  if (w.last_too) text += fmt::format("%z = Neg(%h{})\noutput %z\n", kSteps - 1);
  if (w.read_state >= 0) text += fmt::format("%z = Neg(%h{})\noutput %z\n", w.read_state);
  return text;
}

bool IsFound(const Written& written) {
  const ir::Graph graph = Rewrite(FindUnrolledRnn, TextOf(written));
  const std::string ops = Ops(graph);
  const bool has_node = ops.find("RNN") != std::string::npos;
  EXPECT_EQ(has_node, ops.find("Tanh") == std::string::npos) << ops;
  return has_node;
}

TEST(UnrolledRnn, IsFoundInAllItsForms) {
  EXPECT_TRUE(IsFound({}));
  EXPECT_TRUE(IsFound({.backwards = true}));
  EXPECT_TRUE(IsFound({.flipped = true}));
  EXPECT_TRUE(IsFound({.backwards = true, .flipped = true}));
  EXPECT_TRUE(IsFound({.given_state = true}));
  EXPECT_TRUE(IsFound({.last_too = true}));
  EXPECT_TRUE(IsFound({.backwards = true, .given_state = true, .last_too = true}));
  EXPECT_TRUE(IsFound({.has_bias = false, .first = 0}));
  EXPECT_TRUE(IsFound({.given_state = true, .has_bias = false}));
}

TEST(UnrolledRnn, NearMissesStay) {
  EXPECT_FALSE(IsFound({.other_weights = 2}));
  EXPECT_FALSE(IsFound({.other_weights = kSteps - 1}));
  EXPECT_FALSE(IsFound({.other_slice = 2}));
  EXPECT_FALSE(IsFound({.other_slice = 0}));
  EXPECT_FALSE(IsFound({.read_state = 2}));
  EXPECT_FALSE(IsFound({.relu = 2}));
  EXPECT_FALSE(IsFound({.relu = 0}));
  EXPECT_FALSE(IsFound({.shuffled = true}));
  EXPECT_FALSE(IsFound({.first = 0.5}));
  EXPECT_FALSE(IsFound({.has_bias = false, .first = 0.25}));
}

}  // namespace
}  // namespace fettle::passes
