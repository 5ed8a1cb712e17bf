// What a model or its inputs ask for is refused before it is allocated where it passes the limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/memory_budget.h"
#include "ops/op.h"
#include "runtime/session.h"
#include "tests/session_of.h"

namespace fettle::runtime {
namespace {

using testing::HasSubstr;

constexpr int64_t kLimit = int64_t{1} << 22;

Tensor Ints(const std::vector<int64_t>& values) {
  return Tensor::FromVector(Shape{std::ssize(values)}, values).value();
}

Tensor Scalar(int64_t value) { return Tensor::FromVector(Shape{}, std::vector{value}).value(); }

void ExpectRefused(const std::string& text, const TensorMap& inputs) {
  const auto session = SessionOf(text, {.threads = 1, .max_memory = kLimit});
  TensorMap outputs;
  const Status status = session->Run(inputs, &outputs);
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("the limit is 4194304"));
  EXPECT_THAT(status.message(), HasSubstr("max_memory"));
}

constexpr const char* kDoubles = R"(
input %m: i64[]
input %x: f32[?]
%y = Loop(%m, _, %x) {captures=0, body=graph
  input %i: i64[]
  input %go: bool[]
  input %v: f32[?]
  %on = Identity(%go)
  %w = Concat(%v, %v) {axis=0}
  output %on
  output %w
end}
output %y
)";

constexpr const char* kStacks = R"(
input %m: i64[]
input %x: f32[64]
%y, %all = Loop(%m, _, %x) {captures=0, body=graph
  input %i: i64[]
  input %go: bool[]
  input %v: f32[64]
  %on = Identity(%go)
  %w = Neg(%v)
  %copy = Identity(%w)
  output %on
  output %w
  output %copy
end}
output %all
)";

TEST(MemoryLimit, ValuesOfLoopsStayWithin) {
  const Tensor x = Tensor::FromVector(Shape{1}, std::vector<float>{1}).value();
  ExpectRefused(kDoubles, {{"m", Scalar(60)}, {"x", x}});
  const Tensor row = Tensor::Create(DType::kF32, Shape{64}).value();
  ExpectRefused(kStacks, {{"m", Scalar(int64_t{1} << 31)}, {"x", row}});
}

TEST(MemoryLimit, ShapesThatInputsGiveStayWithin) {
  const Tensor large = Ints({4096, 4096});
  const Tensor one = Tensor::FromVector(Shape{1, 1}, std::vector<float>{1}).value();
  ExpectRefused("input %s: i64[2]\n%y = ConstantOfShape(%s)\noutput %y\n", {{"s", large}});
  ExpectRefused("input %x: f32[1x1]\ninput %s: i64[2]\n%y = Expand(%x, %s)\noutput %y\n",
                {{"x", one}, {"s", large}});
  ExpectRefused("input %x: f32[1x1]\ninput %s: i64[2]\n%y = Tile(%x, %s)\noutput %y\n",
                {{"x", one}, {"s", large}});
  ExpectRefused(
      "input %a: i64[]\ninput %b: i64[]\ninput %c: i64[]\n%y = Range(%a, %b, %c)\noutput %y\n",
      {{"a", Scalar(0)}, {"b", Scalar(1 << 24)}, {"c", Scalar(1)}});
  ExpectRefused("input %x: f32[1x1]\ninput %p: i64[4]\n%y = Pad(%x, %p)\noutput %y\n",
                {{"x", one}, {"p", Ints({4096, 4096, 0, 0})}});
}

TEST(MemoryLimit, WorkMemoryAndPackedConstantsStayWithin) {
  // Neither the value between the two nor the weights fit.
  const auto session = SessionOf(
      "input %x: f32[?x1]\nconst %w: f32[1x4096] = noise(-1, 1)\n%p = MatMul(%x, %w)\n"
      "%y = ReduceMax(%p) {keepdims=0}\noutput %y\n",
      {.threads = 1, .max_memory = kLimit});
  EXPECT_EQ(session->Prepare({{"x", Shape{4096, 1}}}).code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(session->Prepare({{"x", Shape{16, 1}}}).ok());
  ExpectRefused(
      "input %x: f32[8x2048]\nconst %w: f32[2048x2048] = splat 0.5\n"
      "%y = MatMul(%x, %w)\noutput %y\n",
      {{"x", Tensor::Create(DType::kF32, Shape{8, 2048}).value()}});
}

TEST(MemoryLimit, PartsThatFitAloneAreAddedUpBeforeAnyIsTaken) {
  // 2 MiB of weights, and an output of 2.5.
  const auto session = SessionOf(
      "input %x: f32[640x512]\nconst %w: f32[512x1024] = noise(-1, 1)\n"
      "%y = MatMul(%x, %w)\noutput %y\n",
      {.threads = 1, .max_memory = kLimit});
  TensorMap outputs;
  const Status status =
      session->Run({{"x", Tensor::Create(DType::kF32, Shape{640, 512}).value()}}, &outputs);
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("0 are in use"));
}

TEST(MemoryLimit, LongAxesArePlannedWithoutTables) {
  // A table of the padded axis alone would have 32 GiB.
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    const std::string pad = fmt::format(
        "input %x: f32[9x1]\nconst %p: i64[4] = 0 0 4294967296 0\n"
        "%y = Pad(%x, %p) {{mode=\"{}\"}}\n",
        mode);
    ExpectRefused(pad + "output %y\n", {{"x", Tensor::Create(DType::kF32, Shape{9, 1}).value()}});
    ExpectRefused(pad +
                      "const %b: i64[1] = 5\nconst %e: i64[1] = 7\nconst %a: i64[1] = 0\n"
                      "%z = Slice(%y, %b, %e, %a)\n%r = Neg(%z)\noutput %r\n",
                  {{"x", Tensor::Create(DType::kF32, Shape{9, 1}).value()}});
  }
}

TEST(MemoryLimit, WhatFitsRunsAndIsGivenBack) {
  const auto session = SessionOf(kDoubles, {.threads = 1, .max_memory = kLimit});
  const Tensor x = Tensor::FromVector(Shape{1}, std::vector<float>{1}).value();
  for (int run = 0; run < 50; ++run) {
    TensorMap outputs;
    ASSERT_TRUE(session->Run({{"m", Scalar(14)}, {"x", x}}, &outputs).ok());
    ASSERT_EQ(outputs.at("y").elements(), 1 << 14);
    ASSERT_EQ(session->Run({{"m", Scalar(40)}, {"x", x}}, &outputs).code(),
              StatusCode::kOutOfMemory);
  }
}

TEST(MemoryLimit, LoopsStayWithinAQuarterOfTheDefault) {
  const int64_t limit = MemoryBudget::Process().limit(), used = MemoryBudget::Process().used();
  {
    const MemoryScope scope(MemoryBudget::ForLoop());
    EXPECT_EQ(MemoryBudget::ForLoop(), nullptr);
    EXPECT_EQ(MemoryBudget::Current()->limit(), std::min(limit / 4, int64_t{8} << 30));
    EXPECT_EQ(MemoryBudget::OutsideLoops().get(), &MemoryBudget::Process());
    const Tensor inside = Tensor::Create(DType::kU8, Shape{1000}).value();
    EXPECT_EQ(MemoryBudget::Current()->used(), 1000);
    EXPECT_EQ(MemoryBudget::Process().used(), used + 1000);
  }
  EXPECT_EQ(MemoryBudget::Process().used(), used);
  // Of so much the first iteration wants twice; nobody reads a byte of it before that is refused.
  const int64_t elements = std::min(limit / 4, int64_t{8} << 30) / 8 + 1;
  const auto session = SessionOf(kDoubles, {.threads = 1});
  void* const none = ::mmap(nullptr, elements * sizeof(float), PROT_READ,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(none, MAP_FAILED);
  const Tensor x = Tensor::Borrow(DType::kF32, Shape{elements}, static_cast<std::byte*>(none));
  TensorMap outputs;
  const Status status = session->Run({{"m", Scalar(60)}, {"x", x}}, &outputs);
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("for what one loop makes"));
  ::munmap(none, elements * sizeof(float));
}

TEST(MemoryLimit, IsThatOfTheMachineUnlessItIsGiven) {
  const int64_t limit = MemoryBudget::Process().limit(), used = MemoryBudget::Process().used();
  EXPECT_GT(limit, 0);
  EXPECT_LT(limit, int64_t{1} << 50);
  EXPECT_EQ(Tensor::Create(DType::kU8, Shape{limit + 1}).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(MemoryBudget::Process().used(), used);
  const auto wrong = Session::Create(
      Model::FromGraph(ops::Parse("input %x: f32[1]\n%y = Neg(%x)\noutput %y\n").value(), "m")
          .value(),
      {.max_memory = -1});
  EXPECT_EQ(wrong.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fettle::runtime
