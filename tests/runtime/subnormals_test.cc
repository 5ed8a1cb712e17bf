// Subnormal numbers in a session: zero or as IEEE 754 says, whatever the caller's own mode is,
// which stays.
#include "base/subnormals.h"

#include <gtest/gtest.h>

#include <bit>

#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

constexpr float kTiny = 1e-30F;
constexpr float kProduct = 1e-40F;  // of kTiny and the constant below
constexpr int64_t kElements = 200'000;

std::shared_ptr<const Model> Scaling() {
  return Model::FromGraph(ops::Parse("input %x: f32[200000]\nconst %c: f32[] = 1e-10\n"
                                     "%y = Mul(%x, %c)\noutput %y\n")
                              .value(),
                          "model")
      .value();
}

/// The values that a run gives in place of kTiny * 1e-10, on all lanes.
std::vector<float> Products(const SessionOptions& options) {
  const auto session = Session::Create(Scaling(), options).value();
  TensorMap outputs;
  const std::vector<float> values(static_cast<size_t>(kElements), kTiny);
  const Status status =
      session->Run({{"x", Tensor::FromVector(Shape{kElements}, values).value()}}, &outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto* got = reinterpret_cast<const float*>(outputs.at("y").data());
  return {got, got + kElements};
}

/// Compares bits: in a mode that flushes, a subnormal number equals 0.
void ExpectAll(const std::vector<float>& values, float want) {
  for (const float value : values)
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(want));
}

TEST(SessionSubnormals, AreFlushedOrKeptOnAllThreads) {
#if !defined(__x86_64__) && !defined(__aarch64__)
  GTEST_SKIP() << "the processor has no choice";
#endif
  for (const Subnormals callers : {Subnormals::kKeep, Subnormals::kFlush}) {
    const SubnormalScope scope(callers);
    for (const int threads : {1, 3}) {
      ExpectAll(Products({.threads = threads}), 0);
      EXPECT_EQ(CurrentSubnormals(), callers);
      ExpectAll(Products({.threads = threads, .subnormals = Subnormals::kKeep}), kProduct);
      EXPECT_EQ(CurrentSubnormals(), callers);
    }
  }
}

TEST(SessionSubnormals, AreKeptByReferences) {
  for (const Subnormals callers : {Subnormals::kKeep, Subnormals::kFlush}) {
    const SubnormalScope scope(callers);
    ExpectAll(Products({.threads = 3, .reference_only = true}), kProduct);
    EXPECT_EQ(CurrentSubnormals(), callers);
  }
}

TEST(SessionSubnormals, AreKeptInFoldedConstants) {
  const SubnormalScope scope(Subnormals::kFlush);
  const auto model =
      Model::FromGraph(ops::Parse("input %x: f32[2]\nconst %a: f32[2] = 1e-30 2e-30\n"
                                  "const %b: f32[2] = 1e-10 1e-10\n%c = Mul(%a, %b)\n"
                                  "%y = Add(%x, %c)\noutput %y\n")
                           .value(),
                       "model")
          .value();
  const auto session =
      Session::Create(model, {.threads = 1, .subnormals = Subnormals::kKeep}).value();
  TensorMap outputs;
  ASSERT_TRUE(
      session
          ->Run({{"x", Tensor::FromVector(Shape{2}, std::vector<float>{0, 0}).value()}}, &outputs)
          .ok());
  const auto* got = reinterpret_cast<const float*>(outputs.at("y").data());
  EXPECT_EQ(std::bit_cast<uint32_t>(got[0]), std::bit_cast<uint32_t>(kProduct));
}

}  // namespace
}  // namespace fettle::runtime
