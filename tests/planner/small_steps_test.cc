// Which steps the plan of before any measuring shares among threads.
#include "planner/small_steps.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "ops/op.h"

namespace fettle::planner {
namespace {

/// How many of `threads` share the one node of `text`, by the first kernel of the CPU.
int ThreadsFor(const std::string& text, int threads) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const GroupChoices group =
      ListChoices(graph, {.nodes = {ir::NodeId{0}}}, DeviceSet(cpu), {.threads = threads});
  EXPECT_FALSE(group.choices.empty());
  return ThreadsWorthWaking(group.choices.front(), group.fragment.graph, threads);
}

/// Of a product of these sides.
int Threads(const std::string& rows, const std::string& depth, const std::string& columns,
            int threads) {
  return ThreadsFor("input %x: f32[" + rows + "x" + depth + "]\nconst %w: f32[" + depth + "x" +
                        columns + "]\n%y = MatMul(%x, %w)\noutput %y\n",
                    threads);
}

TEST(SmallSteps, StayOnOneThreadByTheirArithmeticOrTheirBytes) {
  EXPECT_EQ(Threads("1", "8", "8", 2), 1);
  EXPECT_EQ(Threads("1", "8", "8", 16), 1);
  EXPECT_EQ(Threads("64", "256", "256", 2), 2);  // 8.4 M operations, 170 us of a core
  EXPECT_EQ(Threads("1", "64", "4096", 2), 2);   // 0.5 M operations, but 1 MB of weights
  EXPECT_EQ(Threads("1", "64", "4096", 1), 1);
}

TEST(SmallSteps, WakeAsManyThreadsAsTheirWorkPaysFor) {
  EXPECT_EQ(Threads("64", "256", "256", 8), 8);
  const int few = Threads("1", "64", "1024", 16);  // 9 us
  EXPECT_GT(few, 2);
  EXPECT_LT(few, 12);
  EXPECT_EQ(Threads("1", "64", "512", 16), 1);  // 4 us
}

TEST(SmallSteps, QuantisingReadsItsFloats) {
  const std::string text =
      "input %x: f32[1x3x224x224]\nconst %s: f32[] = 0.02\nconst %z: u8[] = 7\n"
      "%y = QuantizeLinear(%x, %s, %z)\noutput %y\n";
  EXPECT_EQ(ThreadsFor(text, 2), 2);  // 600 KB of floats for 150 KB of bytes
}

TEST(SmallSteps, RecurrentStatesReadTheirWeights) {
  const auto lstm = [](int hidden) {
    const std::string h = std::to_string(hidden), gates = std::to_string(4 * hidden);
    return "input %x: f32[1x1x" + h + "]\nconst %w: f32[1x" + gates + "x" + h +
           "]\nconst %r: f32[1x" + gates + "x" + h +
           "]\n%y, %h = LSTM(%x, %w, %r) {hidden_size=" + h + "}\noutput %y\noutput %h\n";
  };
  EXPECT_EQ(ThreadsFor(lstm(128), 2), 2);  // 0.3 M operations, but 0.5 MB of weights
  EXPECT_EQ(ThreadsFor(lstm(16), 2), 1);
}

TEST(SmallSteps, FoldingReadsWhatItFolds) {
  const std::string input = "input %x: f32[1x256x28x28]\n", output = "output %y\n";
  EXPECT_EQ(ThreadsFor(input + "%y = GlobalAveragePool(%x)\n" + output, 2), 2);
  EXPECT_EQ(
      ThreadsFor(input + "%y = MaxPool(%x) {kernel_shape=[2, 2], strides=[2, 2]}\n" + output, 2),
      2);
  // Of each 64 elements one is read.
  EXPECT_EQ(
      ThreadsFor(input + "%y = MaxPool(%x) {kernel_shape=[1, 1], strides=[8, 8]}\n" + output, 2),
      1);
}

}  // namespace
}  // namespace fettle::planner
