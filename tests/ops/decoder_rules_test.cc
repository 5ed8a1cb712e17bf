// Import rules of com.microsoft that decoders with a cache have.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/ops/rule_runner.h"

namespace fettle::ops {
namespace {

using ::testing::_;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DecoderRules, GroupQueriesContinueAtTheLengthOfTheCache) {
  // Equal scores: the answer is the mean of the values seen, cached ones first.
  const Tensor q = Make<float>(Shape{1, 1, 2}, {0, 0}), k = Make<float>(Shape{1, 1, 1}, {1});
  const Tensor cache = Make<float>(Shape{1, 1, 4, 1}, {1, 3, 100, 100});
  const Tensor length = Make<int32_t>(Shape{1}, {2}), total = Make<int32_t>(Shape{}, {3});
  const RuleInput input = {"GroupQueryAttention",
                           kMicrosoft,
                           1,
                           {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}},
                           {q, k, Make<float>(Shape{1, 1, 1}, {8}), cache, cache, length, total},
                           3};
  const Result<std::vector<Tensor>> y = RunRule(input);
  EXPECT_THAT(Elements(y), ElementsAre(4, 4));
  EXPECT_THAT(Elements(y, 2), ElementsAre(1, 3, 8, 0));
  // Three keys of a score of 0 share with one more: of 0, or what a head says.
  RuleInput smooth = input;
  smooth.attributes.Set("smooth_softmax", int64_t{1});
  EXPECT_THAT(Elements(RunRule(smooth)), ElementsAre(DoubleNear(3, 1e-6), DoubleNear(3, 1e-6)));
  smooth.inputs.resize(12);
  smooth.inputs[11] = Make<float>(Shape{2}, {std::log(3.0F), -100});
  EXPECT_THAT(Elements(RunRule(smooth)), ElementsAre(DoubleNear(2, 1e-6), DoubleNear(4, 1e-6)));
  smooth.inputs[11] = Make<float>(Shape{3}, {0, 0, 0});
  EXPECT_THAT(RunRule(smooth).status().message(), HasSubstr("'head_sink': 3 for 2 heads"));
}

TEST(DecoderRules, GroupQueriesDropKeysBehindTheWindow) {
  // The last two of four keys are seen; of a cache of three rows two stay, and the third is any.
  const Tensor q = Make<float>(Shape{1, 1, 2}, {0, 0}), k = Make<float>(Shape{1, 1, 1}, {1});
  const Tensor cache = Make<float>(Shape{1, 1, 3, 1}, {1, 3, 7});
  const Tensor length = Make<int32_t>(Shape{1}, {3}), total = Make<int32_t>(Shape{}, {4});
  RuleInput input = {"GroupQueryAttention",
                     kMicrosoft,
                     1,
                     {{"num_heads", int64_t{2}},
                      {"kv_num_heads", int64_t{1}},
                      {"local_window_size", int64_t{2}},
                      {"sliding_window_cache", int64_t{1}}},
                     {q, k, Make<float>(Shape{1, 1, 1}, {8}), cache, cache, length, total},
                     3};
  const Result<std::vector<Tensor>> y = RunRule(input);
  EXPECT_THAT(Elements(y), ElementsAre(7.5, 7.5));
  EXPECT_THAT(Elements(y, 2), ElementsAre(7, 8, _));
  input.attributes.Set("local_window_size", int64_t{-1});
  EXPECT_THAT(RunRule(input).status().message(), HasSubstr("a window of -1 keys"));
  input.attributes.Set("sliding_window_cache", int64_t{0});
  input.attributes.Set("causal", int64_t{0});
  EXPECT_THAT(RunRule(input).status().message(), HasSubstr("'causal'"));
}

TEST(DecoderRules, GroupQueriesNormaliseHeads) {
  // Query and new key have the length of the root of 2 in one direction each; the cached key is as
  // it is stored.
  const Tensor ones = Make<float>(Shape{2}, {1, 1}), none;
  const Tensor cache = Make<float>(Shape{1, 1, 1, 2}, {1, 0});
  RuleInput input = {"GroupQueryAttention",
                     kMicrosoft,
                     1,
                     {{"num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}, {"scale", 1.0}},
                     {Make<float>(Shape{1, 1, 2}, {3, 0}), Make<float>(Shape{1, 1, 2}, {0, 5}),
                      Make<float>(Shape{1, 1, 2}, {0, 0}), cache, cache,
                      Make<int32_t>(Shape{1}, {1}), Make<int32_t>(Shape{}, {2})},
                     3};
  input.inputs.resize(16);
  input.inputs[14] = input.inputs[15] = ones;
  const double seen = 1 / (1 + std::exp(-std::sqrt(2.0)));
  EXPECT_THAT(Elements(RunRule(input)), ElementsAre(DoubleNear(seen, 1e-5), 0));
  input.inputs.pop_back();
  EXPECT_THAT(RunRule(input).status().message(), HasSubstr("must be given together"));
}

TEST(DecoderRules, RotaryFindsItsHeadsByTheCosines) {
  const Tensor x = Make<float>(Shape{1, 1, 4}, {1, 2, 3, 4});
  const Tensor cosines = Make<float>(Shape{2, 1}, {1, 0}), sines = Make<float>(Shape{2, 1}, {0, 1});
  EXPECT_THAT(Elements(RunRule({"RotaryEmbedding",
                                kMicrosoft,
                                1,
                                {},
                                {x, Make<int64_t>(Shape{1, 1}, {1}), cosines, sines}})),
              ElementsAre(-2, 1, -4, 3));
}

}  // namespace
}  // namespace fettle::ops
