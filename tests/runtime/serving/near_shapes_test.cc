// Which shapes are planned, and which are made of plans for others.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "tests/session_of.h"

namespace fettle::runtime {
namespace {

constexpr int kSteps = 40;

/// `kSteps` steps of as much memory as a slice that cuts nothing off: a pass that sees extents
/// leaves it out and saves 2.4 percent of the bytes.
std::unique_ptr<Session> OneSliceTooMany() {
  std::string text =
      "input %x: f32[?]\nconst %b: i64[1] = 0\nconst %e: i64[1] = 1000000000\n"
      "%y0 = Slice(%x, %b, %e)\n";
  for (int i = 0; i < kSteps; ++i)
    text += fmt::format("%y{} = {}(%y{})\n", i + 1, i % 2 == 0 ? "Softplus" : "Neg", i);
  return SessionOf(text + fmt::format("output %y{}\n", kSteps), {.threads = 1});
}

/// Whether a run of this shape chooses kernels.
bool Plans(Session& session, const Shape& shape) {
  const int64_t before = session.preparation().plan_ns;
  Tensor x = Tensor::Create(DType::kF32, shape).value();
  std::ranges::fill(x.as<float>(), 0.5F);
  TensorMap inputs, outputs;
  inputs.emplace("x", std::move(x));
  const Status status = session.Run(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return session.preparation().plan_ns != before;
}

bool Plans(Session& session, int64_t elements) { return Plans(session, Shape{elements}); }

TEST(NearShapes, AreNotPlannedForTheLittleThatPassesWouldSave) {
  const auto session = OneSliceTooMany();
  EXPECT_TRUE(Plans(*session, 300));  // the example
  for (const int64_t elements : {310, 311, 320, 400, 900}) EXPECT_FALSE(Plans(*session, elements));
}

TEST(NearShapes, ArePlannedOnceBesideOnesOfOneElement) {
  const auto from_many = OneSliceTooMany(), from_one = OneSliceTooMany();
  EXPECT_TRUE(Plans(*from_many, 30));
  for (const int64_t elements : {1, 20, 31}) EXPECT_FALSE(Plans(*from_many, elements));
  EXPECT_TRUE(Plans(*from_one, 1));  // mostly the only shape of its session
  EXPECT_TRUE(Plans(*from_one, 30));
  for (const int64_t elements : {2, 20, 31}) EXPECT_FALSE(Plans(*from_one, elements));
}

/// As a prompt and the words behind it: a few in a row that have one row show that more will.
TEST(NearShapes, ArePlannedOnceMoreWhereOneRowComesAgain) {
  const auto session =
      SessionOf("input %x: f32[?x?]\n%y = Softplus(%x)\noutput %y\n", {.threads = 1});
  EXPECT_TRUE(Plans(*session, Shape{5, 30}));
  for (const int64_t extent : {31, 32, 33}) EXPECT_FALSE(Plans(*session, Shape{1, extent}));
  EXPECT_TRUE(Plans(*session, Shape{1, 34}));
  for (const int64_t extent : {35, 36, 40}) {
    EXPECT_FALSE(Plans(*session, Shape{1, extent}));
    EXPECT_FALSE(Plans(*session, Shape{6, extent}));
  }
}

/// As batches of random sizes: once one of them is worth a plan, there have been many.
TEST(NearShapes, ArePlannedOnceMoreWhereOneRowCameOften) {
  const auto session =
      SessionOf("input %x: f32[?x?]\n%y = Softplus(%x)\noutput %y\n", {.threads = 1});
  EXPECT_TRUE(Plans(*session, Shape{5, 30}));
  int plans = 0;
  for (int64_t extent = 31; extent < 61; ++extent) {
    if (extent < 46) {
      EXPECT_EQ(plans, 0) << extent;
    }
    plans += static_cast<int>(Plans(*session, Shape{1, extent}));
    plans += static_cast<int>(Plans(*session, Shape{1, 2 * extent}));
    EXPECT_FALSE(Plans(*session, Shape{6, extent}));
  }
  EXPECT_EQ(plans, 1);
}

/// Passes run for each shape there.
TEST(NearShapes, ArePlannedOnceWherePassesSaveMuch) {
  const auto session = OneSliceTooMany();
  EXPECT_TRUE(Plans(*session, 250000));
  for (const int64_t elements : {250001, 250002, 300000}) {
    EXPECT_FALSE(Plans(*session, elements));
    for (const exec::StepProfile& step : session->profile()) EXPECT_NE(step.op, "Slice");
  }
}

/// The type of what is cast is known once the first shape has been inferred.
TEST(NearShapes, CastNothingToTheTypeThatItHas) {
  const auto session = SessionOf(
      "input %x: f32[?]\n%a = Softplus(%x)\n%b = Cast(%a) {to=\"f32\"}\n%y = Neg(%b)\n"
      "output %y\n",
      {.threads = 1});
  for (const int64_t elements : {40, 41, 42}) {
    Plans(*session, elements);
    for (const exec::StepProfile& step : session->profile())
      EXPECT_EQ(step.op.find("Cast"), std::string::npos) << step.op;
  }
}

TEST(NearShapes, MoveWhatTheirOwnExtentsSay) {
  const auto session = SessionOf(
      "input %x: f32[?]\nconst %one: i64[1] = 1\nconst %axis: i64[1] = 0\n"
      "const %two: i64[1] = 2\n%s = Shape(%x)\n%end = Sub(%s, %one)\n"
      "%odd = Slice(%x, %one, %end, %axis, %two)\n%y = Neg(%odd)\noutput %y\n",
      {.threads = 1});
  for (const int64_t elements : {40, 41, 42, 47, 90, 91, 60}) {
    TensorMap inputs, outputs;
    Tensor x = Tensor::Create(DType::kF32, Shape{elements}).value();
    std::iota(x.as<float>().begin(), x.as<float>().end(), 0.F);
    inputs.emplace("x", std::move(x));
    ASSERT_TRUE(session->Run(inputs, &outputs).ok());
    const std::span<const float> y = outputs.at("y").as<float>();
    ASSERT_EQ(std::ssize(y), (elements - 1) / 2) << elements;
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], -static_cast<float>(2 * i + 1)) << elements;
  }
}

}  // namespace
}  // namespace fettle::runtime
