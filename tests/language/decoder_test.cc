// Decoders of GGUF files: whole prompts against single steps and against the oracle, hostile files.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/clock.h"
#include "language/generator.h"
#include "ops/attention/byte_rows.h"
#include "runtime/model.h"
#include "tests/language/open_decoder.h"

namespace fettle {
namespace {

/// What the oracles make of all tokens at once, without a cache that is written in place.
std::vector<float> OracleLogits(const SmallDecoder& form, const std::vector<int32_t>& tokens,
                                DType cache = DType::kF16) {
  auto file = ReadText(WriteSmallDecoder(form));
  const auto decoder = gguf::ReadDecoder(**file);
  gguf::DecoderForm built;
  built.cache = cache;
  auto graph = gguf::BuildDecoder(*file, *decoder, 32, built);
  auto model = runtime::Model::FromGraph(std::move(*graph), "small.gguf");
  runtime::SessionOptions options;
  options.reference_only = true;
  auto session = runtime::Session::Create(*model, options);
  const auto length = std::ssize(tokens);
  runtime::TensorMap inputs, outputs;
  Tensor hidden = *Tensor::Create(DType::kF32, Shape{1, length, decoder->width});
  for (int64_t i = 0; i < length; ++i)
    gguf::EmbeddingRow(**file, *decoder, tokens[i], i,
                       hidden.as<float>().data() + i * decoder->width);
  inputs["hidden"] = hidden;
  inputs["position"] = *Tensor::FromVector<int64_t>(Shape{1}, {0});
  inputs["last"] = *Tensor::FromVector<int64_t>(Shape{1}, {length - 1});
  inputs["seqlens"] = *Tensor::FromVector<int32_t>(Shape{1}, {static_cast<int32_t>(length - 1)});
  inputs["steps"] =
      *Tensor::FromVector<int32_t>(Shape{1, 3}, {-1, 1, static_cast<int32_t>(length)});
  if (!decoder->has_states()) inputs.erase("steps");
  for (int64_t i = 0; i < decoder->layers; ++i) {
    for (const gguf::KeptState& state : decoder->StatesOf(i)) {
      Dims dims = {gguf::kSlotsOfCache};
      for (int axis = 0; axis < state.shape.rank(); ++axis) dims.push_back(state.shape[axis]);
      inputs["past_" + state.name + "." + std::to_string(i)] =
          *Tensor::Create(DType::kF32, Shape(dims));
    }
    if (!decoder->forms[i].attends) continue;
    const auto past = [&](int64_t size) {
      return *Tensor::Create(cache, {1, decoder->kv_heads, 32, ops::StoredSize(cache, size)});
    };
    inputs["past_key." + std::to_string(i)] = past(decoder->head_size);
    inputs["past_value." + std::to_string(i)] = past(decoder->value_size);
  }
  const Status status = (*session)->Run(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto logits = outputs["logits"].as<float>();
  return {logits.begin(), logits.end()};
}

class DecoderTest : public testing::TestWithParam<SmallDecoder> {};

TEST_P(DecoderTest, PromptsStepsAndOracleAgree) {
  const std::vector<int32_t> tokens = {5, 17, 90, 3, 3, 41, 60, 8, 22, 1, 77};
  const auto decoder = Open(GetParam(), 32);
  const std::vector<float> whole = Logits(*decoder, tokens);
  // Values that lie between two bytes fall to other sides where sums are rounded in another order.
  ExpectNear(whole, OracleLogits(GetParam(), tokens), 0.03F);
  ASSERT_TRUE(decoder->Rewind(0).ok());
  std::vector<float> steps;
  for (int32_t token : tokens) steps = Logits(*decoder, {token});
  ExpectNear(whole, steps, 0.03F);
  // What lies behind a rewound position is forgotten. States go back to the beginning alone.
  const int64_t kept = GetParam().is_recurrent() ? 0 : 4;
  ASSERT_TRUE(decoder->Rewind(kept).ok());
  ExpectNear(whole, Logits(*decoder, {tokens.begin() + kept, tokens.end()}), 0.03F);
}

TEST_P(DecoderTest, CachesInBytesAreTheOraclesAndNearlyThoseOfHalves) {
  const std::vector<int32_t> tokens = {5, 17, 90, 3, 3, 41, 60, 8, 22, 1, 77};
  const auto decoder = Open(GetParam(), 32, 1, nullptr, DType::kI8);
  const std::vector<float> whole = Logits(*decoder, tokens);
  ExpectNear(whole, OracleLogits(GetParam(), tokens, DType::kI8), 0.03F);
  ExpectNear(whole, Logits(*Open(GetParam(), 32), tokens), 0.05F);
  if (GetParam().architecture == "mamba") return;  // without keys and values
  EXPECT_LT(decoder->cache_bytes(), Open(GetParam(), 32)->cache_bytes());
  // Forks, rewinds and saves as with halves.
  if (GetParam().is_recurrent()) {
    ASSERT_TRUE(decoder->Rewind(0).ok());
    Logits(*decoder, {tokens.begin(), tokens.begin() + 4});
  }
  ASSERT_TRUE(decoder->Rewind(4).ok());
  const auto fork = decoder->Fork();
  std::vector<std::byte> saved(decoder->saved_bytes());
  ASSERT_TRUE(decoder->Save(saved).ok());
  const std::vector<int32_t> rest = {tokens.begin() + 4, tokens.end()};
  const std::vector<float> again = Logits(*decoder, rest);
  ExpectNear(whole, again, 0.03F);
  EXPECT_EQ(Logits(**fork, rest), again);
  ASSERT_TRUE(decoder->Restore(saved).ok());
  EXPECT_EQ(Logits(*decoder, rest), again);
  const Status other = Open(GetParam(), 32)->Restore(saved);
  EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(other.message().find("one of bytes, and this model's is of f16"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, DecoderTest,
    testing::Values(
        SmallDecoder{}, SmallDecoder{.architecture = "qwen2"},
        SmallDecoder{.architecture = "qwen3", .type = 2},
        SmallDecoder{.architecture = "gemma", .type = 8}, SmallDecoder{.type = 0},
        SmallDecoder{.type = 1}, SmallDecoder{.architecture = "qwen2", .type = 30},
        SmallDecoder{.architecture = "gpt2"}, SmallDecoder{.architecture = "phi2", .type = 8},
        SmallDecoder{.architecture = "bloom"}, SmallDecoder{.architecture = "command-r"},
        SmallDecoder{.architecture = "deepseek2"},
        SmallDecoder{.architecture = "deepseek2", .is_kept = true},
        SmallDecoder{.architecture = "deepseek2", .type = 0, .is_kept = true},
        SmallDecoder{.architecture = "lfm2"}, SmallDecoder{.architecture = "mamba", .type = 8},
        SmallDecoder{.architecture = "granitehybrid", .type = 0},
        SmallDecoder{.architecture = "qwen35"},
        SmallDecoder{.architecture = "qwen3moe", .experts = 4},
        SmallDecoder{.architecture = "qwen3moe", .type = 8, .experts = 3},
        SmallDecoder{.architecture = "qwen3moe", .type = 1, .experts = 3},
        SmallDecoder{.architecture = "qwen3moe", .type = 0, .experts = 3}));

int64_t BytesInUse() {
#if defined(__GLIBC__)
  const auto heap = mallinfo2();  // zeros under sanitizers, which have heaps of their own
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd);
#else
  return 0;
#endif
}

TEST(SequenceDecoderTest, StepsPlanPrepareAndKeepNothing) {
  const auto decoder = Open({}, 128);
  Logits(*decoder, std::vector<int32_t>(40, 3));
  for (int32_t token : {1, 2, 3}) Logits(*decoder, {token});
  const exec::PreparationTimes before = decoder->session().preparation();
  const int64_t packed = decoder->session().memory().packed_bytes, bytes = BytesInUse();
  for (int32_t token = 0; token < 80; ++token) Logits(*decoder, {token});
  // A prompt of another length, too.
  ASSERT_TRUE(decoder->Rewind(0).ok());
  Logits(*decoder, std::vector<int32_t>(41, 3));
  const exec::PreparationTimes after = decoder->session().preparation();
  EXPECT_EQ(before.plan_ns, after.plan_ns);
  EXPECT_EQ(before.kernels_ns, after.kernels_ns);
  EXPECT_EQ(before.weights_ns, after.weights_ns);
  EXPECT_EQ(decoder->session().memory().packed_bytes, packed);
  EXPECT_LT(std::abs(BytesInUse() - bytes), 16384);
}

/// Wherever they end, behind some runs of the prompt among them, the logits before are there still.
TEST(SequenceDecoderTest, CancelledReadsLeaveTheLogitsBefore) {
  std::atomic<bool> cancelled = false;
  language::DecoderOptions options;
  options.context = 128;
  options.threads = 1;
  options.cancelled = &cancelled;
  const auto made = language::SequenceDecoder::Create(*ReadText(WriteSmallDecoder()), options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  language::SequenceDecoder& decoder = **made;
  const std::vector<int32_t> prompt(45, 7), other(45, 11);  // runs of 32, 8 and 8 tokens each
  std::span<const float> logits, none;
  std::vector<float> want;
  const auto begin = [&] {
    ASSERT_TRUE(decoder.Rewind(0).ok());
    ASSERT_TRUE(decoder.Read(prompt, &logits).ok());
    want.assign(logits.begin(), logits.end());
  };
  begin();
  const int64_t begun_ns = NowNs();
  begin();
  const int64_t read_ns = NowNs() - begun_ns;
  for (int64_t part = 0; part < 64; ++part) {
    std::jthread canceller([&, part] {
      std::this_thread::sleep_for(std::chrono::nanoseconds(read_ns * part / 64));
      cancelled = true;
    });
    const Status status = decoder.Read(other, &none);
    canceller.join();
    cancelled = false;
    if (status.ok()) {
      begin();
      continue;
    }
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), want) << part;
    EXPECT_EQ(decoder.logits().data(), logits.data());
  }
}

/// Sequences with positions and tokens of their own, three of which share a pool.
std::vector<std::unique_ptr<language::SequenceDecoder>> Several(const SmallDecoder& form,
                                                                int64_t pool,
                                                                DType cache = DType::kF16) {
  std::vector<std::unique_ptr<language::SequenceDecoder>> all;
  all.push_back(Open(form, 64, pool, nullptr, cache));
  for (int i = 1; i < 5; ++i) {
    auto fork = all[0]->Fork();
    all.push_back(std::move(*fork));
  }
  for (int i = 0; i < 5; ++i) Logits(*all[i], std::vector<int32_t>(3 + 4 * i, 7 * i));
  return all;
}

/// `pool` sequences at a time.
void ExpectStepsAreThoseAlone(const SmallDecoder& form, int64_t pool) {
  // Both types of cache among the forms.
  const DType cache = form.type == 2 ? DType::kI8 : DType::kF16;
  const auto alone = Several(form, 1, cache), together = Several(form, pool, cache);
  std::vector<language::SequenceDecoder*> step;
  for (const auto& sequence : together) step.push_back(sequence.get());
  for (int32_t turn = 0; turn < 4; ++turn) {
    // They join and leave: the first is not in the third step, and they change places.
    if (turn == 2) step.erase(step.begin());
    std::rotate(step.begin(), step.begin() + 1, step.end());
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < step.size(); ++i)
      tokens.push_back(static_cast<int32_t>(11 * turn + 5 * i) % 90);
    const Status status = language::SequenceDecoder::Step(step, tokens);
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < step.size(); ++i) {
      const auto at =
          std::ranges::find(together, step[i], [](const auto& sequence) { return sequence.get(); });
      language::SequenceDecoder& own = *alone[at - together.begin()];
      const std::vector<float> want = Logits(own, {tokens[i]});
      EXPECT_EQ(step[i]->position(), own.position());
      const std::span<const float> got = step[i]->logits();
      // Floats are summed in another order where there are more rows; rounded rows are not.
      if (form.type == 0)
        ExpectNear({got.begin(), got.end()}, want, 1e-4F);
      else
        EXPECT_TRUE(std::ranges::equal(got, want)) << turn << " " << i;
    }
  }
}

TEST_P(DecoderTest, SequencesOfAStepGetWhatTheyGetAlone) {
  ExpectStepsAreThoseAlone(GetParam(), 3);
}

/// A router's weights are f32, whose products by more than four rows add in another order
/// elsewhere.
TEST(SequenceDecoderTest, RoutersChooseBesideOthersAsTheyDoAlone) {
  for (const uint32_t type : {3, 8, 1})
    ExpectStepsAreThoseAlone({.architecture = "qwen3moe", .type = type, .experts = 8}, 5);
}

TEST(SequenceDecoderTest, StepsThatCannotBeReadNothing) {
  const auto decoder = Open({}, 8, 2), other = Open({}, 8, 2);
  const auto forked = decoder->Fork();
  language::SequenceDecoder* const fork = forked->get();
  Logits(*fork, std::vector<int32_t>(7, 1));
  using Sequences = std::vector<language::SequenceDecoder*>;
  const auto refused = [](const Sequences& all, const std::vector<int32_t>& tokens) {
    return language::SequenceDecoder::Step(all, tokens).code() == StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({}, {}));
  EXPECT_TRUE(refused({decoder.get()}, {1, 2}));
  EXPECT_TRUE(refused({decoder.get(), decoder.get()}, {1, 2}));
  EXPECT_TRUE(refused({decoder.get(), other.get()}, {1, 2}));
  EXPECT_TRUE(refused({decoder.get(), fork}, {1, 96}));
  EXPECT_TRUE(
      language::SequenceDecoder::Step(Sequences{decoder.get(), fork}, std::vector<int32_t>{1, 2})
          .ok());
  EXPECT_TRUE(refused({decoder.get(), fork}, {1, 2}));  // past the context of the second
  EXPECT_EQ(decoder->position(), 1);
  EXPECT_EQ(fork->position(), 8);
}

TEST_P(DecoderTest, ForksAndSavesHoldTheirTokens) {
  const auto decoder = Open(GetParam(), 64);
  Logits(*decoder, {5, 17, 90, 3});
  const auto fork = decoder->Fork();
  ASSERT_TRUE(fork.ok());
  std::vector<std::byte> saved(decoder->saved_bytes());
  ASSERT_TRUE(decoder->Save(saved).ok());
  Logits(*decoder, {9, 9, 9});  // what the first reads is not the fork's
  const std::vector<float> want = Logits(**fork, {41, 60});
  ASSERT_TRUE(decoder->Restore(saved).ok());
  EXPECT_EQ(decoder->position(), 4);
  EXPECT_EQ(Logits(*decoder, {41, 60}), want);
  const auto other = Open({.architecture = "qwen2", .layers = 1}, 64);
  EXPECT_EQ(other->Restore(saved).code(), StatusCode::kInvalidArgument);
  saved.back() ^= std::byte{1};
  EXPECT_EQ(decoder->Restore(saved).code(), StatusCode::kCorrupt);
  EXPECT_EQ(decoder->position(), 6);
}

TEST(SequenceDecoderTest, ProductsOfOneInputAreOneStep) {
  const auto decoder = Open({}, 64);
  for (const size_t length : {1, 8, 32}) {
    Logits(*decoder, std::vector<int32_t>(length, 5));
    std::vector<std::string> products;
    for (const exec::StepProfile& step : decoder->session().profile())
      if (step.kernel == "cpu.block_product.rows") products.push_back(step.op);
    EXPECT_EQ(std::ranges::count(products, "RMSNormalization+BlockMatMul+BlockMatMul+BlockMatMul"),
              2);  // queries, keys and values of each layer
    EXPECT_EQ(std::ranges::count(products, "RMSNormalization+BlockMatMul+BlockMatMul"), 2);
  }
}

TEST(SequenceDecoderTest, BothPartsOfParallelLayersAreOneStep) {
  const auto decoder = Open({.architecture = "phi2"}, 64);
  for (const size_t length : {1, 32}) {
    Logits(*decoder, std::vector<int32_t>(length, 5));
    const auto profile = decoder->session().profile();
    const auto joined = std::ranges::count_if(profile, [](const exec::StepProfile& step) {
      return step.kernel == "cpu.block_product.rows" &&
             step.op == "LayerNormalization+BlockMatMul+BlockMatMul+BlockMatMul+BlockMatMul";
    });
    EXPECT_EQ(joined, 2);
  }
}

TEST(SequenceDecoderTest, RefusesWhatDoesNotFit) {
  const auto decoder = Open({}, 16);
  std::span<const float> logits;
  EXPECT_FALSE(decoder->Read({}, &logits).ok());
  const std::vector<int32_t> outside = {1, 96}, negative = {-1}, many(17, 1), most(16, 1);
  EXPECT_FALSE(decoder->Read(outside, &logits).ok());
  EXPECT_FALSE(decoder->Read(negative, &logits).ok());
  EXPECT_FALSE(decoder->Read(many, &logits).ok());
  EXPECT_EQ(decoder->position(), 0);
  EXPECT_TRUE(decoder->Read(most, &logits).ok());
  EXPECT_FALSE(decoder->Read(std::vector<int32_t>{1}, &logits).ok());
  EXPECT_FALSE(decoder->Rewind(17).ok());
}

}  // namespace
}  // namespace fettle
