// Results that a caller holds stay as they are, and their memory is used again once he let go.
#include <gtest/gtest.h>

#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

class OutputReuseTest : public testing::Test {
 protected:
  Tensor Run(float value) {
    TensorMap outputs;
    const std::vector<float> values(64, value);
    const Status status =
        session_->Run({{"x", Tensor::FromVector(Shape{64}, values).value()}}, &outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    return outputs.at("y");
  }

  std::unique_ptr<Session> session_ =
      Session::Create(
          Model::FromGraph(ops::Parse("input %x: f32[64]\n%y = Neg(%x)\noutput %y\n").value(),
                           "model")
              .value(),
          {.threads = 1})
          .value();
};

TEST_F(OutputReuseTest, TwoTakeTurnsWhereTheLastIsHeldUntilTheNext) {
  Tensor held = Run(1);
  const std::byte* const first = held.data();
  held = Run(2);
  const std::byte* const second = held.data();
  EXPECT_NE(second, first);
  held = Run(3);
  EXPECT_EQ(held.data(), first);
  held = Run(4);
  EXPECT_EQ(held.data(), second);
}

TEST_F(OutputReuseTest, WhatIsHeldIsNotWritten) {
  std::vector<Tensor> held;
  for (int i = 0; i < 5; ++i) held.push_back(Run(static_cast<float>(i)));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(held[static_cast<size_t>(i)].as<float>()[63], static_cast<float>(-i));
}

}  // namespace
}  // namespace fettle::runtime
