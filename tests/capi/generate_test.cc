// Language models through the C interface, on a decoder of random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "fettle/fettle.hpp"
#include "tests/test_folder.h"

namespace {

using ::testing::HasSubstr;

fettle::Generator Open(int64_t context = 64) {
  return fettle::Generator::Create(FETTLE_SMALL_DECODER, {.context = context, .threads = 2})
      .value();
}

/// `count` tokens behind those that were read.
std::vector<int32_t> Continue(fettle::Generator& generator, int count) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back(generator.Next().value());
    generator.Read({&tokens.back(), 1}).value();
  }
  return tokens;
}

TEST(CApiGenerate, GreedyTokensAreThoseOfTheLargestLogits) {
  fettle::Generator generator = Open();
  const std::vector<int32_t> prompt = generator.Encode("Hello a b").value();
  EXPECT_GT(prompt.size(), 5U);
  std::string text;
  for (int32_t token : prompt) text += generator.Decode(token).value();
  EXPECT_EQ(text, "Hello a b");
  EXPECT_EQ(generator.Next().code(), FETTLE_NOT_FOUND);
  EXPECT_EQ(generator.Logits().code(), FETTLE_NOT_FOUND);
  generator.Read(prompt).value();
  const std::span<const float> logits = generator.Logits().value();
  const fettle_generate_facts facts = generator.facts();
  EXPECT_EQ(static_cast<int64_t>(logits.size()), facts.vocabulary);
  EXPECT_EQ(facts.position, static_cast<int64_t>(prompt.size()));
  EXPECT_EQ(facts.context, 64);
  EXPECT_EQ(facts.trained_context, 128);
  EXPECT_EQ(facts.threads, 2);
  EXPECT_EQ(facts.begin_token, -1);
  // Two layers, keys and values, two heads of 16, halves.
  EXPECT_EQ(facts.cache_bytes, 2 * 2 * 2 * 16 * 64 * 2);
  EXPECT_EQ(generator.Next().value(), std::ranges::max_element(logits) - logits.begin());
  EXPECT_TRUE(generator.IsEnd(static_cast<int32_t>(facts.vocabulary) - 1));
  EXPECT_FALSE(generator.IsEnd(0));
  EXPECT_EQ(generator.Decode(static_cast<int32_t>(facts.vocabulary)).code(),
            FETTLE_INVALID_ARGUMENT);
}

TEST(CApiGenerate, StepsOfSeveralSequencesGoOnAlike) {
  fettle::Generator alone = Open();
  alone.Read(alone.Encode("Some words").value()).value();
  const std::vector<int32_t> wanted = Continue(alone, 6);
  fettle::Generator first =
      fettle::Generator::Create(FETTLE_SMALL_DECODER, {.context = 64, .threads = 2, .sequences = 2})
          .value();
  first.Read(first.Encode("Some words").value()).value();
  std::vector<fettle::Generator> all;
  for (int i = 0; i < 2; ++i) all.push_back(first.Fork().value());
  all.push_back(std::move(first));
  std::vector<fettle_generate*> handles;
  for (fettle::Generator& one : all) handles.push_back(one.get());
  std::vector<int32_t> tokens(3, wanted[0]);
  for (size_t i = 0; i + 1 < wanted.size(); ++i) {
    EXPECT_EQ(tokens, std::vector<int32_t>(3, wanted[i]));
    fettle::Generator::Step(handles, tokens.data()).value();
    for (size_t s = 0; s < all.size(); ++s) tokens[s] = all[s].Next().value();
  }
  const int32_t* none = nullptr;
  EXPECT_EQ(fettle::Generator::Step({}, none).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle::Generator::Step(handles, none).code(), FETTLE_INVALID_ARGUMENT);
  handles[1] = handles[0];
  EXPECT_EQ(fettle::Generator::Step(handles, tokens.data()).code(), FETTLE_INVALID_ARGUMENT);
  handles[1] = alone.get();  // of another model
  EXPECT_EQ(fettle::Generator::Step(handles, tokens.data()).code(), FETTLE_INVALID_ARGUMENT);
  handles[1] = nullptr;
  EXPECT_EQ(fettle::Generator::Step(handles, tokens.data()).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle::Generator::Create(FETTLE_SMALL_DECODER, {.sequences = 257}).code(),
            FETTLE_INVALID_ARGUMENT);
}

TEST(CApiGenerate, ComputesOnADevice) {
  const auto wrong = fettle::Generator::Create(FETTLE_SMALL_DECODER, {.device = "abacus"});
  EXPECT_EQ(wrong.code(), FETTLE_INVALID_ARGUMENT);
  auto made = fettle::Generator::Create(FETTLE_SMALL_DECODER, {.context = 64, .device = "opencl"});
  if (made.code() == FETTLE_DEVICE_UNAVAILABLE) GTEST_SKIP() << "no OpenCL device";
  fettle::Generator here = Open(), there = std::move(made).value();
  for (fettle::Generator* generator : {&here, &there})
    generator->Read(generator->Encode("Hello a b").value()).value();
  EXPECT_EQ(Continue(here, 4), Continue(there, 4));
}

TEST(CApiGenerate, CachesInBytesTakeHalf) {
  auto in_bytes = fettle::Generator::Create(FETTLE_SMALL_DECODER,
                                            {.context = 64, .threads = 2, .cache = "bytes"})
                      .value();
  // Two layers, keys and values, two heads of 16 bytes and a step.
  EXPECT_EQ(in_bytes.facts().cache_bytes, 2 * 2 * 2 * 20 * 64);
  in_bytes.Read(in_bytes.Encode("Some words").value()).value();
  const std::vector<std::byte> saved = in_bytes.Save().value();
  fettle::Generator halves = Open();
  EXPECT_EQ(halves.Restore(saved).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(fettle_last_error()).find("of bytes"), std::string::npos);
  EXPECT_EQ(fettle::Generator::Create(FETTLE_SMALL_DECODER, {.cache = "q8_0"}).code(),
            FETTLE_INVALID_ARGUMENT);
}

TEST(CApiGenerate, ForksRewindsAndSavesGoOnAlike) {
  fettle::Generator generator = Open();
  generator.Read(generator.Encode("Some words").value()).value();
  const int64_t length = generator.facts().position;
  fettle::Generator fork = generator.Fork().value();
  EXPECT_EQ(fork.Next().code(), FETTLE_NOT_FOUND);  // a fork has read nothing itself
  const std::vector<std::byte> saved = generator.Save().value();
  const std::vector<int32_t> wanted = Continue(generator, 12);

  const int32_t first = wanted[0];
  fork.Read({&first, 1}).value();
  EXPECT_EQ(Continue(fork, 11), std::vector<int32_t>(wanted.begin() + 1, wanted.end()));
  generator.Rewind(length).value();
  EXPECT_EQ(generator.Next().code(), FETTLE_NOT_FOUND);
  generator.Read({&first, 1}).value();
  EXPECT_EQ(Continue(generator, 11), std::vector<int32_t>(wanted.begin() + 1, wanted.end()));

  fettle::Generator later = Open(40);
  later.Restore(saved).value();
  EXPECT_EQ(later.facts().position, length);
  later.Read({&first, 1}).value();
  EXPECT_EQ(Continue(later, 11), std::vector<int32_t>(wanted.begin() + 1, wanted.end()));
}

TEST(CApiGenerate, SavedBytesThatDoNotFitAreRefused) {
  fettle::Generator generator = Open();
  generator.Read(generator.Encode("Some words").value()).value();
  const std::vector<std::byte> saved = generator.Save().value();
  fettle::Generator small = Open(4), other = Open();
  EXPECT_EQ(small.Restore(saved).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("exceeds the context of 4"));
  for (size_t length : {size_t{0}, size_t{7}, size_t{32}, saved.size() - 1})
    EXPECT_EQ(other.Restore(std::span(saved).first(length)).code(), FETTLE_CORRUPT) << length;
  for (size_t at = 0; at < saved.size(); at += at < 32 ? 1 : 97) {
    std::vector<std::byte> changed = saved;
    changed[at] ^= std::byte{64};
    EXPECT_FALSE(other.Restore(changed).ok()) << at;
  }
  EXPECT_EQ(other.facts().position, 0);
  fettle::Generator qwen = fettle::Generator::Create(FETTLE_SMALL_DECODER ".qwen3").value();
  EXPECT_EQ(qwen.Restore(saved).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("of another model"));
}

TEST(CApiGenerate, TokensThatDoNotFitAreRefusedAndNothingIsRead) {
  fettle::Generator generator = Open(8);
  const auto vocabulary = static_cast<int32_t>(generator.facts().vocabulary);
  const std::vector<std::vector<int32_t>> wrong = {
      {}, {-1}, {1, vocabulary}, {INT32_MIN}, {INT32_MAX}, std::vector<int32_t>(9, 1)};
  for (const auto& tokens : wrong) {
    EXPECT_EQ(generator.Read(tokens).code(), FETTLE_INVALID_ARGUMENT);
    EXPECT_EQ(generator.facts().position, 0);
  }
  EXPECT_THAT(fettle_last_error(), HasSubstr("exceed the context of 8"));
  for (int64_t count : {int64_t{-1}, int64_t{1}, INT64_MAX})
    EXPECT_EQ(generator.Rewind(count).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle::Generator::Create(FETTLE_SMALL_DECODER, {.context = -1}).code(),
            FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle::Generator::Create(FETTLE_SMALL_DECODER, {.threads = 1025}).code(),
            FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle::Generator::Create("/no/such/file").code(), FETTLE_NOT_FOUND);
  EXPECT_EQ(fettle::Generator::Create(FETTLE_DEMO_MODEL).code(), FETTLE_NOT_FOUND);
}

TEST(CApiGenerate, SamplingFollowsItsSeed) {
  fettle::Generator generator = Open();
  generator.Read(generator.Encode("Some words").value()).value();
  const auto sample = [&](uint64_t seed) {
    generator.SetSampling({.temperature = 2, .seed = seed}).value();
    std::vector<int32_t> tokens;
    for (int i = 0; i < 16; ++i) tokens.push_back(generator.Next().value());
    return tokens;
  };
  EXPECT_EQ(sample(3), sample(3));
  EXPECT_NE(sample(3), sample(4));
  for (const fettle::Sampling& wrong :
       {fettle::Sampling{.temperature = -1}, fettle::Sampling{.top_p = 1.5},
        fettle::Sampling{.top_k = -1}, fettle::Sampling{.temperature = 0.0 / 0.0}})
    EXPECT_EQ(generator.SetSampling(wrong).code(), FETTLE_INVALID_ARGUMENT);
}

TEST(CApiGenerate, AQuestionTakesTheFormOfTheFile) {
  const fettle::Generator generator = Open();
  EXPECT_THAT(generator.Chat("Why?", "Be brief.").value(), HasSubstr("Be brief."));
  EXPECT_THAT(generator.Chat("Why?").value(), HasSubstr("<|im_start|>user\nWhy?<|im_end|>"));
}

TEST(CApiGenerate, CancelEndsAReadInProgress) {
  fettle::Generator generator = Open(128);
  generator.Cancel();  // of nothing
  const std::vector<int32_t> prompt(120, 5);
  std::atomic<bool> done = false;
  std::thread canceller([&] {
    while (!done) generator.Cancel();
  });
  bool was_cancelled = false;
  for (int i = 0; i < 1000 && !was_cancelled; ++i) {
    const auto read = generator.Read(prompt);
    was_cancelled = read.code() == FETTLE_CANCELLED;
    EXPECT_TRUE(read.ok() || was_cancelled);
    if (read.ok()) generator.Rewind(0).value();
  }
  done = true;
  canceller.join();
  EXPECT_TRUE(was_cancelled);
  EXPECT_EQ(generator.facts().position, 0);
  generator.Read(prompt).value();
}

TEST(CApiGenerate, ForksRunFromSeveralThreads) {
  fettle::Generator generator = Open();
  generator.Read(generator.Encode("Some words").value()).value();
  const int32_t first = generator.Next().value();
  std::vector<fettle::Generator> forks;
  for (int i = 0; i < 3; ++i) forks.push_back(generator.Fork().value());
  std::vector<std::vector<int32_t>> answers(forks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < forks.size(); ++i) {
    threads.emplace_back([&, i] {
      forks[i].Read({&first, 1}).value();
      answers[i] = Continue(forks[i], 10);
    });
  }
  for (std::thread& thread : threads) thread.join();
  generator.Read({&first, 1}).value();
  for (const auto& answer : answers) EXPECT_EQ(answer, answers[0]);
  EXPECT_EQ(Continue(generator, 10), answers[0]);
}

TEST(CApiGenerate, NullIsRefused) {
  fettle_generate* none = nullptr;
  EXPECT_EQ(fettle_generate_create(nullptr, nullptr, &none), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_generate_fork(nullptr, &none), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_generate_read(nullptr, nullptr, 0), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_generate_restore(nullptr, nullptr, 0), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_generate_is_end(nullptr, 0), 0);
  fettle_generate_cancel(nullptr);
  fettle_generate_free(nullptr);
  fettle::Generator generator = Open(8);
  EXPECT_EQ(fettle_generate_read(generator.get(), nullptr, 1), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_generate_set_sampling(generator.get(), nullptr), FETTLE_INVALID_ARGUMENT);
  fettle_generate_facts facts = {};
  EXPECT_EQ(fettle_generate_get_facts(generator.get(), &facts), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("fettle_generate_facts: struct_size is 0"));
}

}  // namespace
