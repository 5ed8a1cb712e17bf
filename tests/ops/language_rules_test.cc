// Import rules of the products that language models in ONNX files have, against sums worked out by
// hand.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/ops/rule_runner.h"

namespace fettle::ops {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor PackedBytes(const Shape& shape, const std::vector<uint8_t>& values) {
  return Make(shape, values);
}

std::string Refusal(const RuleInput& input) {
  const Result<std::vector<Tensor>> y = RunRule(input);
  return y.ok() ? "" : std::string(y.status().message());
}

/// Codes 9, 10, 11 and 12 in blocks of 2 with scales of 1 and 0.5, times 1, 10, 100 and 1000.
RuleInput Product(const Tensor& zeros, const Tensor& groups, int64_t k = 4) {
  std::vector<float> a = {1, 10, 100, 1000};
  a.resize(k);
  return {"MatMulNBits",
          kMicrosoft,
          1,
          {{"N", int64_t{1}}, {"K", k}, {"bits", int64_t{4}}, {"block_size", int64_t{2}}},
          {Make<float>(Shape{1, k}, a), PackedBytes(Shape{1, 2, 1}, {0xA9, 0xCB}),
           Make<float>(Shape{2}, {1, 0.5F}), zeros, groups}};
}
Tensor Groups(const std::vector<int32_t>& of) { return Make<int32_t>(Shape{std::ssize(of)}, of); }
Tensor Zeros(float first, float second) { return Make<float>(Shape{2}, {first, second}); }

TEST(LanguageRules, RowsMayHaveTheirGroupsInAnyOrder) {
  EXPECT_THAT(Elements(RunRule(Product({}, Groups({0, 0, 1, 1})))), ElementsAre(2171));
  EXPECT_THAT(Elements(RunRule(Product({}, Groups({1, 0, 0, 1})))), ElementsAre(2320.5));
  // Three rows share a scale.
  EXPECT_THAT(Elements(RunRule(Product({}, Groups({1, 1, 1, 0})))), ElementsAre(4160.5));
  EXPECT_THAT(Elements(RunRule(Product(Zeros(8, 9), Groups({1, 1, 1, 0})))), ElementsAre(4105));
}

TEST(LanguageRules, ZeroPointsMayBeFloats) {
  EXPECT_THAT(Elements(RunRule(Product(Zeros(8, 9), {}))), ElementsAre(1621));
  EXPECT_THAT(Elements(RunRule(Product(Zeros(8.5F, 7.25F), {}))), ElementsAre(2578));
  EXPECT_THAT(Elements(RunRule(Product(Zeros(8.5F, 7.25F), {}, 3))), ElementsAre(203));
  EXPECT_THAT(Elements(RunRule(Product(Zeros(-1, 16), {}))), ElementsAre(-2130));
  EXPECT_THAT(Elements(RunRule(Product(Zeros(8.5F, 7.25F), Groups({1, 0, 0, 1})))),
              ElementsAre(2640.875));
}

/// Two columns of 64 codes, by rows whose bytes are the numbers themselves, but for the last one.
RuleInput RoundedProduct(int64_t block, const Tensor& zeros, float last, int64_t accuracy) {
  std::vector<float> a(64), scales;
  for (int64_t i = 0; i < 64; ++i) a[i] = i % 16 == 0 ? 127.0F : static_cast<float>(i % 7) - 3;
  a.back() = last;
  for (int64_t i = 0; i < 128 / block; ++i) scales.push_back(0.5F + static_cast<float>(i));
  std::vector<uint8_t> codes(64);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(37 * i + 11);
  return {"MatMulNBits",
          kMicrosoft,
          1,
          {{"N", int64_t{2}},
           {"K", int64_t{64}},
           {"bits", int64_t{4}},
           {"block_size", block},
           {"accuracy_level", accuracy}},
          {Make<float>(Shape{1, 64}, a), PackedBytes(Shape{2, 64 / block, block / 2}, codes),
           Make<float>(Shape{std::ssize(scales)}, scales), zeros}};
}

TEST(LanguageRules, RowsAreRoundedToBytesWhereTheAccuracyAllowsIt) {
  for (const int64_t block : {16, 32, 64}) {
    std::vector<float> halves(128 / block, 7.5F);
    const std::vector<uint8_t> bytes(2 * ((64 / block + 1) / 2), 0x59);
    for (const Tensor& zeros : {Tensor(), Make<float>(Shape{std::ssize(halves)}, halves),
                                PackedBytes(Shape{std::ssize(bytes)}, bytes)}) {
      const auto of = [&](float last, int64_t accuracy) {
        return Elements(RunRule(RoundedProduct(block, zeros, last, accuracy)));
      };
      const auto exact = of(3, 0), rounded = of(3, 4);
      ASSERT_EQ(exact.size(), 2U);
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(rounded[i], exact[i], 1e-3) << block;
      EXPECT_EQ(of(3.4F, 4), rounded);
      EXPECT_NE(of(3.4F, 0), exact);
    }
  }
}

TEST(LanguageRules, GroupsAndZeroPointsThatDoNotFitAreRefused) {
  EXPECT_THAT(Refusal(Product({}, Groups({0, 0, 2, 1}))), HasSubstr("group 2 of 2"));
  EXPECT_THAT(Refusal(Product({}, Groups({0, 0, -1, 1}))), HasSubstr("group -1 of 2"));
  EXPECT_THAT(Refusal(Product({}, Groups({0, 0, 1}))), HasSubstr("3 groups of 4 rows"));
  EXPECT_THAT(Refusal(Product(Zeros(8.5F, 8), Groups({1, 1, 1, 0}))),
              HasSubstr("groups of different sizes"));
  EXPECT_THAT(Refusal(Product(Make<float>(Shape{3}, {1, 2, 3}), {})),
              HasSubstr("3 zero points, expected 2"));
}

RuleInput TableProduct(int64_t type, const std::vector<uint8_t>& codes,
                       const std::vector<float>& largest = {2, 3}) {
  return {"MatMulBnb4",
          kMicrosoft,
          1,
          {{"N", int64_t{2}}, {"K", int64_t{3}}, {"block_size", int64_t{4}}, {"quant_type", type}},
          {Make<float>(Shape{1, 3}, {1, 10, 100}), PackedBytes(Shape{std::ssize(codes)}, codes),
           Make<float>(Shape{std::ssize(largest)}, largest)}};
}

TEST(LanguageRules, WeightsMayNameNumbersOfATable) {
  // Columns 2 0 -2 and 2 -3 0, then 2 1 -2 and 2 -3 0: the second block begins within a column.
  EXPECT_THAT(Elements(RunRule(TableProduct(1, {0xF7, 0x0F, 0x07}))), ElementsAre(-198, -28));
  EXPECT_THAT(Elements(RunRule(TableProduct(0, {0x35, 0xB3, 0xB0}))), ElementsAre(-188, -28));
  EXPECT_THAT(Refusal(TableProduct(2, {1, 2, 3})), HasSubstr("expected 0 (FP4) or 1 (NF4), got 2"));
  EXPECT_THAT(Refusal(TableProduct(1, {1, 2})), HasSubstr("2 bytes of weights, expected 3"));
  EXPECT_THAT(Refusal(TableProduct(1, {1, 2, 3}, {1})), HasSubstr("1 numbers in 'absmax'"));
  RuleInput turned = TableProduct(1, {1, 2, 3});
  turned.attributes.Set("transB", int64_t{0});
  EXPECT_THAT(Refusal(turned), HasSubstr("'transB'"));
}

/// Three experts of one number, of which the router prefers the last, then the second: they count
/// 1/2 and 3/8 of all.
RuleInput Mixture(float x, const std::vector<float>& into, ir::Attributes more) {
  more.Set("k", int64_t{2});
  return {"MoE",
          kMicrosoft,
          1,
          std::move(more),
          {Make<float>(Shape{1, 1, 1}, {x}),
           Make<float>(Shape{1, 3}, {0, std::log(3.F), std::log(4.F)}),
           Make<float>(Shape{3, 1, 1}, into), Tensor(),
           Make<float>(Shape{3, 1, 1}, {10, 100, 1000}), Tensor()}};
}
ir::Attributes Active(const char* activation) {
  return {{"activation_type", std::string(activation)}};
}

TEST(LanguageRules, ExpertsCountWhatTheRouterSays) {
  RuleInput moe = Mixture(1, {1, 2, 3}, Active("relu"));
  moe.inputs[3] = Make<float>(Shape{3, 1}, {1, 1, 1});
  moe.inputs[5] = Make<float>(Shape{3, 1}, {1, 2, 3});
  // Of 21, 302 and 4003.
  const Result<std::vector<Tensor>> y = RunRule(moe);
  EXPECT_THAT(Elements(y), ElementsAre(DoubleNear(2114.75, 1e-3)));
  EXPECT_EQ((*y)[0].shape(), (Shape{1, 1, 1}));
  moe.attributes.Set("normalize_routing_weights", int64_t{1});
  EXPECT_THAT(Elements(RunRule(moe)), ElementsAre(DoubleNear(16918 / 7.0, 1e-3)));
}

TEST(LanguageRules, ExpertsOfNoTokensGiveNone) {
  RuleInput moe = Mixture(1, {1, 2, 3}, Active("relu"));
  moe.inputs[0] = Make<float>(Shape{0, 0, 1}, {});
  moe.inputs[1] = Make<float>(Shape{0, 3}, {});
  const Result<std::vector<Tensor>> y = RunRule(moe);
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].shape(), (Shape{0, 0, 1}));
}

TEST(LanguageRules, ExpertsThatAreNotChosenCountNothing) {
  EXPECT_THAT(Elements(RunRule(Mixture(2, {3e38F, 2, 3}, Active("relu")))),
              ElementsAre(DoubleNear(3150, 1e-3)));
}

TEST(LanguageRules, GatesMeetValues) {
  RuleInput moe = Mixture(1, {1, 2, 3}, Active("identity"));
  moe.inputs.push_back(Make<float>(Shape{3, 1, 1}, {1, 2, 3}));
  EXPECT_THAT(Elements(RunRule(moe)), ElementsAre(DoubleNear(4650, 1e-2)));
  // One expert, whose gate 4 and value 5 are held at 3: swish(3) * (3 + 1).
  RuleInput pairs = {
      "MoE",
      kMicrosoft,
      1,
      {{"activation_type", std::string("swiglu")},
       {"k", int64_t{1}},
       {"swiglu_fusion", int64_t{1}},
       {"swiglu_limit", 3.0},
       {"activation_beta", 1.0}},
      {Make<float>(Shape{1, 1}, {1}), Make<float>(Shape{1, 1}, {7}),
       Make<float>(Shape{1, 2, 1}, {4, 5}), Tensor(), Make<float>(Shape{1, 1, 1}, {1}), Tensor()}};
  EXPECT_THAT(Elements(RunRule(pairs)), ElementsAre(DoubleNear(11.43089, 1e-4)));
  // Gate and value of two layers.
  pairs.inputs[2] = Make<float>(Shape{1, 1, 1}, {4});
  pairs.inputs.push_back(Make<float>(Shape{1, 1, 1}, {5}));
  EXPECT_THAT(Elements(RunRule(pairs)), ElementsAre(DoubleNear(11.43089, 1e-4)));
}

TEST(LanguageRules, MixturesThatAreRefused) {
  const auto refusal = [](const char* name, ir::Attribute value) {
    RuleInput moe = Mixture(1, {1, 2, 3}, Active("relu"));
    moe.attributes.Set(name, std::move(value));
    return Refusal(moe);
  };
  EXPECT_THAT(refusal("k", int64_t{4}), HasSubstr("4 of 3 experts"));
  EXPECT_THAT(refusal("use_sparse_mixer", int64_t{1}), HasSubstr("'use_sparse_mixer'"));
  EXPECT_THAT(refusal("activation_type", std::string("tanh")), HasSubstr("'tanh'"));
  EXPECT_THAT(refusal("activation_type", std::string("swiglu")), HasSubstr("'swiglu_fusion'"));
  RuleInput moe = Mixture(1, {1, 2, 3}, Active("relu"));
  moe.inputs[2] = Make<float>(Shape{3, 2, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Refusal(moe), HasSubstr("weights 3x2x1, expected 3x1x1"));
}

/// Two experts: twice x, times twice x, as they are; the second one is chosen.
RuleInput QuantisedMixture() {
  const Tensor one = PackedBytes(Shape{2, 2, 1}, {0x89, 0x98, 0x89, 0x98});
  const Tensor two = PackedBytes(Shape{2, 2, 1}, {0x8A, 0xA8, 0x8A, 0xA8});
  const Tensor scales = Make<float>(Shape{2, 2}, {1, 1, 1, 1});
  return {"QMoE",
          kMicrosoft,
          1,
          {{"activation_type", std::string("identity")}, {"k", int64_t{1}}},
          {Make<float>(Shape{1, 2}, {3, 5}), Make<float>(Shape{1, 2}, {0, 1}), one,
           Make<float>(Shape{2, 2}, {1, 1, 2, 2}), Tensor(), one, scales, Tensor(), two, scales,
           Tensor(), Tensor(), Tensor(), Tensor()}};
}

TEST(LanguageRules, ExpertsOfFewBits) {
  RuleInput moe = QuantisedMixture();
  EXPECT_THAT(Elements(RunRule(moe)), ElementsAre(36, 100));
  moe.inputs.push_back(Make<float>(Shape{1, 2}, {0.5F, 0.25F}));
  EXPECT_THAT(Elements(RunRule(moe)), ElementsAre(9, 25));
  moe.attributes.Set("normalize_routing_weights", int64_t{1});
  EXPECT_THAT(Elements(RunRule(moe)), ElementsAre(36, 100));
  // Zero points of the layer out of the experts: two to a byte, along its outputs.
  moe.inputs[12] = PackedBytes(Shape{2, 1}, {0x88, 0x78});
  EXPECT_THAT(Elements(RunRule(moe)), ElementsAre(36, 236));
  moe.inputs[12] = PackedBytes(Shape{3}, {0x88, 0x78, 0});
  EXPECT_THAT(Refusal(moe), HasSubstr("zero points 3 do not fit"));
  RuleInput negative = QuantisedMixture();
  negative.inputs.push_back(Make<float>(Shape{1, 2}, {0.5F, -0.25F}));
  EXPECT_THAT(Elements(RunRule(negative)), ElementsAre(-9, -25));
  RuleInput floats = QuantisedMixture();
  floats.inputs[5] = Make<float>(Shape{2, 2, 1}, {1, 1, 1, 1});
  EXPECT_THAT(Refusal(floats), HasSubstr("weights of 4 bits are stored in uint8, not in f32"));
  RuleInput blocks = QuantisedMixture();
  blocks.attributes.Set("block_size", INT64_MAX);
  EXPECT_THAT(Refusal(blocks), HasSubstr("'block_size': 9223372036854775807 is out of range"));
  RuleInput scales = QuantisedMixture();
  scales.inputs[3] = Make<float>(Shape{3}, {1, 1, 1});
  EXPECT_THAT(Refusal(scales), HasSubstr("3 scales, expected 2 of 2 outputs"));
  RuleInput bits = QuantisedMixture();
  bits.attributes.Set("expert_weight_bits", int64_t{3});
  EXPECT_THAT(Refusal(bits), HasSubstr("expected 2|4|8, got 3"));
}

}  // namespace
}  // namespace fettle::ops
