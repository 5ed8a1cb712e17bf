// What a profile says of a Concat whose inputs are written where it would copy them to.
#include <gtest/gtest.h>

#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

/// The Concat's step of a run of `text`, whose input is x.
exec::StepProfile ConcatOf(std::string_view text, const Shape& shape) {
  const auto model = Model::FromGraph(ops::Parse(text).value(), "model").value();
  const auto session = Session::Create(model, {.threads = 1}).value();
  TensorMap outputs;
  const Status ran = session->Run({{"x", Tensor::Create(DType::kF32, shape).value()}}, &outputs);
  EXPECT_TRUE(ran.ok()) << ran.message();
  for (const exec::StepProfile& step : session->profile())
    if (step.op == "Concat") return step;
  ADD_FAILURE() << "no step of a Concat";
  return {};
}

constexpr int64_t kPartBytes = 16 * 64 * 4;

TEST(JoinsTest, WhatLiesThereAlreadyIsNotCounted) {
  // x is the caller's, and copied; its Relu is written where it is joined.
  const exec::StepProfile step =
      ConcatOf("input %x: f32[1x16x8x8]\n%a = Relu(%x)\n%y = Concat(%x, %a) {axis=1}\noutput %y\n",
               {1, 16, 8, 8});
  EXPECT_EQ(step.bytes, 2 * kPartBytes);
  EXPECT_EQ(step.work.bytes, 2.0 * kPartBytes);
}

TEST(JoinsTest, WhatIsCopiedIsCounted) {
  const exec::StepProfile step =
      ConcatOf("input %x: f32[1x16x8x8]\n%y = Concat(%x, %x) {axis=1}\noutput %y\n", {1, 16, 8, 8});
  EXPECT_EQ(step.bytes, 3 * kPartBytes);  // x is one operand
}

}  // namespace
}  // namespace fettle::runtime
