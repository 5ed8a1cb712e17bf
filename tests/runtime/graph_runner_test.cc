// Graphs that cannot be planned at once: data-dependent shapes, control flow, changing input
// shapes.
#include "runtime/graph_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op.h"
#include "runtime/loop_times.h"

namespace fettle::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GraphRunnerTest : public testing::Test {
 protected:
  GraphRunnerTest()
      : device_(std::make_shared<ThreadPool>(2)), context_{device_,
                                                           packed_,
                                                           {.threads = 2},
                                                           *planner::PreferredPlans(),
                                                           2,
                                                           CpuStream(device_, 2)} {}

  std::unique_ptr<GraphRunner> Load(std::string_view text) {
    Result<ir::Graph> graph = ops::Parse(text);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return std::make_unique<GraphRunner>(
        std::make_shared<const ir::Graph>(std::move(graph).value()), context_);
  }

  template <typename T>
  static Tensor Make(const Shape& shape, const std::vector<T>& values) {
    return Tensor::FromVector(shape, values).value();
  }

  template <typename T>
  static std::vector<T> Values(const Tensor& tensor) {
    const std::span<T> span = tensor.as<T>();
    return {span.begin(), span.end()};
  }

  CpuDevice device_;
  exec::PackedStore packed_;
  Context context_;
};

TEST_F(GraphRunnerTest, RunsOneSegment) {
  const auto runner = Load("input %x: f32[2x?]\n%y = Relu(%x)\noutput %y\n");
  const auto y = runner->Run(std::vector{Make<float>({2, 2}, {-1, 2, 3, -4})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(0, 2, 3, 0));
}

TEST_F(GraphRunnerTest, PacksAConstantOnceThoughSeveralThreadsPack) {
  std::string text = "input %x0: f32[4x64]\nconst %w: f32[64x64] = noise(-1, 1)\n";
  for (int i = 0; i < 8; ++i)
    text += fmt::format("%m{0} = MatMul(%x{0}, %w)\n%x{1} = Tanh(%m{0})\n", i, i + 1);
  text += "output %x8\n";
  const auto runner = Load(text);
  const std::vector<Tensor> inputs{Make<float>({4, 64}, std::vector<float>(256, 0.5F))};
  const auto y = runner->Run(inputs);
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ(packed_.Living().size(), 1u);

  const CpuDevice alone(std::make_shared<ThreadPool>(1));
  exec::PackedStore packed_alone;
  Context context{alone, packed_alone,       {.threads = 1}, *planner::PreferredPlans(),
                  2,     CpuStream(alone, 1)};
  GraphRunner one(std::make_shared<const ir::Graph>(ops::Parse(text).value()), context);
  const auto want = one.Run(inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  EXPECT_EQ(Values<float>((*y)[0]), Values<float>((*want)[0]));
}

TEST_F(GraphRunnerTest, ReplansForNewShapesAndReturnsToOldOnes) {
  const auto runner = Load("input %x: f32[?]\n%y = Neg(%x)\noutput %y\n");
  for (int64_t size : {3, 5, 3, 7, 3, 0}) {
    const auto y = runner->Run(
        std::vector{Make<float>(Shape{size}, std::vector<float>(static_cast<size_t>(size), 2))});
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ(Values<float>((*y)[0]), std::vector<float>(static_cast<size_t>(size), -2));
  }
}

TEST_F(GraphRunnerTest, OutputsThatAreInputsOrConstantsAreCopies) {
  const auto runner = Load(
      "input %x: f32[2]\nconst %c: f32[2] = 5 6\n%y = Neg(%x)\noutput %x\noutput %c\noutput %y\n");
  const auto out = runner->Run(std::vector{Make<float>({2}, {1, 2})});
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_THAT(Values<float>((*out)[0]), ElementsAre(1, 2));
  EXPECT_THAT(Values<float>((*out)[1]), ElementsAre(5, 6));
  EXPECT_THAT(Values<float>((*out)[2]), ElementsAre(-1, -2));
}

TEST_F(GraphRunnerTest, ContinuesBehindADataDependentShape) {
  const auto runner =
      Load("input %x: f32[4]\n%a = Relu(%x)\n%n = NonZero(%a)\n%m = Neg(%n)\noutput %m\n");
  const auto first = runner->Run(std::vector{Make<float>({4}, {1, -1, 0, 3})});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_THAT(Values<int64_t>((*first)[0]), ElementsAre(0, -3));
  const auto second = runner->Run(std::vector{Make<float>({4}, {1, 1, 1, 3})});
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_THAT(Values<int64_t>((*second)[0]), ElementsAre(0, -1, -2, -3));
}

TEST_F(GraphRunnerTest, ReshapesByAnInputValue) {
  const auto runner =
      Load("input %x: f32[6]\ninput %s: i64[2]\n%y = Reshape(%x, %s)\n%z = Neg(%y)\noutput %z\n");
  const auto z =
      runner->Run(std::vector{Make<float>({6}, {1, 2, 3, 4, 5, 6}), Make<int64_t>({2}, {3, -1})});
  ASSERT_TRUE(z.ok()) << z.status().message();
  EXPECT_EQ((*z)[0].shape(), (Shape{3, 2}));
  EXPECT_THAT(Values<float>((*z)[0]), ElementsAre(-1, -2, -3, -4, -5, -6));
}

constexpr std::string_view kIf = R"(
input %c: bool[]
input %x: f32[2]
%y = If(%c, %x) {captures=1, then_branch=graph
  input %a: f32[2]
  %r = Neg(%a)
  output %r
end, else_branch=graph
  input %b: f32[2]
  %s = Add(%b, %b)
  output %s
end}
%z = Abs(%y)
output %y
output %z
)";

TEST_F(GraphRunnerTest, RunsTheBranchThatTheConditionPicks) {
  const auto runner = Load(kIf);
  const Tensor x = Make<float>({2}, {1, 2});
  const auto yes = runner->Run(std::vector{Make<bool>(Shape{}, {true}), x});
  ASSERT_TRUE(yes.ok()) << yes.status().message();
  EXPECT_THAT(Values<float>((*yes)[0]), ElementsAre(-1, -2));
  EXPECT_THAT(Values<float>((*yes)[1]), ElementsAre(1, 2));
  const auto no = runner->Run(std::vector{Make<bool>(Shape{}, {false}), x});
  ASSERT_TRUE(no.ok()) << no.status().message();
  EXPECT_THAT(Values<float>((*no)[0]), ElementsAre(2, 4));
}

TEST_F(GraphRunnerTest, LoopsOverCarriedValuesAndStacksScanOutputs) {
  const auto runner = Load(R"(
input %m: i64[]
input %x: f32[1]
input %step: f32[1]
%y, %all = Loop(%m, _, %x, %step) {captures=1, body=graph
  input %i: i64[]
  input %go: bool[]
  input %v: f32[1]
  input %s: f32[1]
  %w = Add(%v, %s)
  %on = Identity(%go)
  %copy = Identity(%w)
  output %on
  output %w
  output %copy
end}
output %y
output %all
)");
  const auto out = runner->Run(
      std::vector{Make<int64_t>(Shape{}, {3}), Make<float>({1}, {10}), Make<float>({1}, {2})});
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_THAT(Values<float>((*out)[0]), ElementsAre(16));
  EXPECT_EQ((*out)[1].shape(), (Shape{3, 1}));
  EXPECT_THAT(Values<float>((*out)[1]), ElementsAre(12, 14, 16));
}

TEST_F(GraphRunnerTest, IterationsOfALoopHaveOneRowOfTimes) {
  const auto runner = Load(R"(
input %m: i64[]
input %x: f32[?]
%y, %z = Loop(%m, _, %x, %x) {captures=0, body=graph
  input %i: i64[]
  input %go: bool[]
  input %same: f32[?]
  input %grows: f32[?]
  %on = Identity(%go)
  %next = Neg(%same)
  %more = Concat(%grows, %same) {axis=0}
  output %on
  output %next
  output %more
end}
output %y
output %z
)");
  const auto run = [&](int64_t trips) {
    context_.times.clear();
    const auto out =
        runner->Run(std::vector{Make<int64_t>(Shape{}, {trips}), Make<float>({1}, {2})});
    ASSERT_TRUE(out.ok()) << out.status().message();
    EXPECT_EQ((*out)[1].elements(), trips + 1);
    int64_t runs = 0;
    for (const exec::StepTime& time : context_.times) runs += time.runs;
    EXPECT_GE(runs, trips);
    EXPECT_EQ(static_cast<size_t>(runs), StepsRun(context_.times));
  };
  run(1);
  const size_t steps = context_.times.size();
  run(3 * LoopTimes::kMostForms);
  EXPECT_LE(context_.times.size(), steps * LoopTimes::kMostForms);
}

TEST_F(GraphRunnerTest, IterationsOfOneShapeAddUp) {
  const auto runner = Load(R"(
input %m: i64[]
input %x: f32[4]
%y = Loop(%m, _, %x) {captures=0, body=graph
  input %i: i64[]
  input %go: bool[]
  input %v: f32[4]
  %on = Identity(%go)
  %w = Neg(%v)
  output %on
  output %w
end}
output %y
)");
  const auto rows = [&](int64_t trips) {
    context_.times.clear();
    EXPECT_TRUE(
        runner->Run(std::vector{Make<int64_t>(Shape{}, {trips}), Make<float>({4}, {1, 2, 3, 4})})
            .ok());
    return context_.times;
  };
  const auto once = rows(1), often = rows(1000);
  ASSERT_EQ(once.size(), often.size());
  const exec::StepProfile row = ProfileOf(often.back()), one = ProfileOf(once.back());
  EXPECT_EQ(row.runs, 1000);
  EXPECT_EQ(row.bytes, 1000 * one.bytes);
}

TEST_F(GraphRunnerTest, RefusesLoopsThatNeverEnd) {
  constexpr std::string_view kBody =
      "  input %i: i64[]\n  input %go: bool[]\n  input %v: f32[2]\n  {}\n  %w = Neg(%v)\n"
      "  output %on\n  output %w\nend}}\noutput %y\n";
  const auto with = [&](std::string_view count, std::string_view on) {
    return Load(fmt::format("input %m: i64[]\ninput %c: bool[]\ninput %x: f32[2]\n"
                            "%y = Loop({}, %c, %x) {{captures=0, body=graph\n",
                            count) +
                fmt::format(fmt::runtime(kBody), on));
  };
  const auto run = [&](GraphRunner& runner, bool go) {
    return runner.Run(
        std::vector{Make<int64_t>({}, {3}), Make<bool>({}, {go}), Make<float>({2}, {1, 2})});
  };
  for (std::string_view on : {"%on = Identity(%go)", "const %on: bool[] = 1"}) {
    const auto y = run(*with("_", on), true);
    ASSERT_FALSE(y.ok()) << on;
    EXPECT_THAT(y.status().message(), HasSubstr("it never ends"));
    EXPECT_TRUE(run(*with("_", on), false).ok()) << on;
    EXPECT_TRUE(run(*with("%m", on), true).ok()) << on;
  }
  EXPECT_TRUE(run(*with("_", "%on = Not(%go)"), true).ok());
}

TEST_F(GraphRunnerTest, LoopsThatNeverRunStackNothingOfTheBodysShape) {
  const auto runner = Load(R"(
input %m: i64[]
input %x: f32[2x3]
%y, %all, %count = Loop(%m, _, %x) {captures=0, body=graph
  input %i: i64[]
  input %go: bool[]
  input %v: f32[2x3]
  %w = Neg(%v)
  %on = Identity(%go)
  %copy = Identity(%w)
  %n = Identity(%i)
  output %on
  output %w
  output %copy
  output %n
end}
output %y
output %all
output %count
)");
  const auto out = runner->Run(
      std::vector{Make<int64_t>(Shape{}, {0}), Make<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_THAT(Values<float>((*out)[0]), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ((*out)[1].shape(), (Shape{0, 2, 3}));
  EXPECT_EQ((*out)[2].shape(), (Shape{0}));
  EXPECT_EQ((*out)[2].dtype(), DType::kI64);
}

TEST_F(GraphRunnerTest, ScansBackwards) {
  const auto runner = Load(R"(
input %s: f32[]
input %x: f32[3]
%last, %sums = Scan(%s, %x) {num_scan_inputs=1, scan_input_directions=[1], body=graph
  input %acc: f32[]
  input %e: f32[]
  %next = Add(%acc, %e)
  %out = Identity(%next)
  output %next
  output %out
end}
output %last
output %sums
)");
  const auto out = runner->Run(std::vector{Make<float>(Shape{}, {0}), Make<float>({3}, {1, 2, 3})});
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_THAT(Values<float>((*out)[0]), ElementsAre(6));
  EXPECT_THAT(Values<float>((*out)[1]), ElementsAre(3, 5, 6));
}

TEST_F(GraphRunnerTest, ReportsABadIndexWithTheNode) {
  const auto runner = Load("input %x: f32[3]\ninput %i: i64[1]\n%y = Gather(%x, %i)\noutput %y\n");
  const auto y = runner->Run(std::vector{Make<float>({3}, {1, 2, 3}), Make<int64_t>({1}, {7})});
  ASSERT_FALSE(y.ok());
  EXPECT_EQ(y.status().code(), StatusCode::kInvalidArgument) << y.status().message();
}

}  // namespace
}  // namespace fettle::runtime
