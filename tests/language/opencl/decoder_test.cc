// Decoders whose weights and caches lie on an OpenCL device, beside those of the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/language/open_decoder.h"
#include "tests/opencl_device.h"

namespace fettle {
namespace {

class DeviceDecoderTest : public testing::TestWithParam<SmallDecoder> {
 protected:
  void SetUp() override {
    const auto& device = TestOpenClDevice();
    if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
    device_ = *device;
  }
  std::shared_ptr<const Device> device_;
};

void ExpectTheCpus(const SmallDecoder& form, const std::shared_ptr<const Device>& device) {
  const auto here = Open(form, 128), there = Open(form, 128, 1, device);
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 45; ++i) prompt.push_back(i * 29 % 96);
  std::vector<float> want = Logits(*here, prompt), got = Logits(*there, prompt);
  ExpectNear(want, got, 0.03F);
  for (int step = 0; step < 12; ++step) {
    const auto likeliest = std::ranges::max_element(want) - want.begin();
    want = Logits(*here, {static_cast<int32_t>(likeliest)});
    got = Logits(*there, {static_cast<int32_t>(likeliest)});
    ExpectNear(want, got, 0.03F);
  }
}

TEST_P(DeviceDecoderTest, PromptsAndStepsAreThoseOfTheCpu) { ExpectTheCpus(GetParam(), device_); }

TEST_P(DeviceDecoderTest, CachesInBytesAreThoseOfTheCpu) {
  const auto here = Open(GetParam(), 128, 1, nullptr, DType::kI8);
  const auto there = Open(GetParam(), 128, 1, device_, DType::kI8);
  EXPECT_EQ(there->cache_bytes(), here->cache_bytes());
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 45; ++i) prompt.push_back(i * 29 % 96);
  ExpectNear(Logits(*here, prompt), Logits(*there, prompt), 0.03F);
  for (int32_t token : {3, 41, 60, 8})
    ExpectNear(Logits(*here, {token}), Logits(*there, {token}), 0.03F);
  // A saved one goes on on the other device.
  std::vector<std::byte> saved(there->saved_bytes());
  ASSERT_TRUE(there->Save(saved).ok());
  ASSERT_TRUE(here->Restore(saved).ok());
  const std::vector<float> want = Logits(*there, {7, 9});
  ExpectNear(Logits(*here, {7, 9}), want, 0.03F);
  ASSERT_TRUE(there->Restore(saved).ok());
  EXPECT_EQ(Logits(*there, {7, 9}), want);
}

TEST_P(DeviceDecoderTest, AllStepsComputeThere) {
  for (const DType cache : {DType::kF16, DType::kI8}) {
    const auto decoder = Open(GetParam(), 64, 1, device_, cache);
    for (const size_t length : {1, 8, 32}) {
      Logits(*decoder, std::vector<int32_t>(length, 5));
      for (const exec::StepProfile& step : decoder->session().profile())
        EXPECT_EQ(step.device, "opencl") << length << ": " << step.op << " " << step.kernel;
    }
  }
}

/// Weights of 16 bits are kept as they are, like those in blocks.
TEST_P(DeviceDecoderTest, WeightsAreUploadedInTheirBits) {
  const auto decoder = Open(GetParam(), 64, 1, device_);
  Logits(*decoder, std::vector<int32_t>(40, 5));
  // 2 layers of 64 x 64 and 64 x 96, the embedding, and a pair of floats or halves for 32 weights.
  const int64_t weights = 2 * (3 * 64 * 96 + 2 * 64 * 64 + 2 * 64 * 32) + 64 * 96;
  const int64_t bits = GetParam().type == 8                         ? 8
                       : GetParam().type < 4 && GetParam().type > 1 ? 4
                                                                    : 16;
  EXPECT_LT(decoder->session().memory().packed_bytes, weights * bits / 8 * 5 / 4 + 40000);
}

INSTANTIATE_TEST_SUITE_P(Forms, DeviceDecoderTest,
                         testing::Values(SmallDecoder{},
                                         SmallDecoder{.architecture = "qwen3", .type = 2},
                                         SmallDecoder{.architecture = "gemma", .type = 8},
                                         SmallDecoder{.architecture = "qwen2", .type = 1},
                                         SmallDecoder{.type = 30}));

class DeviceMixtureTest : public DeviceDecoderTest {};

TEST_P(DeviceMixtureTest, ExpertsAreComputedThereAsOnTheCpu) {
  ExpectTheCpus(GetParam(), device_);
  const auto decoder = Open(GetParam(), 64, 1, device_);
  for (const size_t length : {1, 8}) {
    Logits(*decoder, std::vector<int32_t>(length, 5));
    int64_t experts = 0;
    for (const exec::StepProfile& step : decoder->session().profile()) {
      if (step.op != "ExpertMatMul") continue;
      ++experts;
      EXPECT_TRUE(step.kernel.starts_with("opencl.")) << step.kernel;
    }
    EXPECT_EQ(experts, 2 * 4);  // of each layer: the router, gates, values, and what they give
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, DeviceMixtureTest,
    testing::Values(SmallDecoder{.architecture = "qwen3moe", .experts = 4},
                    SmallDecoder{.architecture = "qwen3moe", .type = 8, .experts = 3},
                    SmallDecoder{.architecture = "qwen3moe", .type = 1, .experts = 3}));

class DeviceDecoder : public DeviceDecoderTest {};

/// Programs are optimised as users have them, which tests leave out elsewhere.
class Optimised {
 public:
  Optimised() { setenv(kFlags, "", /*overwrite=*/1); }
  ~Optimised() {
    if (!flags_.empty()) setenv(kFlags, flags_.c_str(), 1);
  }

 private:
  static constexpr const char* kFlags = "POCL_EXTRA_BUILD_FLAGS";
  std::string flags_ = std::getenv(kFlags) == nullptr ? "" : std::getenv(kFlags);
};

/// The last row of a head lies before the first of the next one: what is written behind it shows
/// when a token is read again.
TEST_P(DeviceDecoder, TheLastTokenLeavesOtherRowsAlone) {
  const Optimised optimised;
  SmallDecoder form = GetParam();
  form.width = 128;  // heads of 32, whose programs no other test has
  for (const DType cache : {DType::kF16, DType::kI8}) {
    const auto here = Open(form, 12, 1, nullptr, cache), there = Open(form, 12, 1, device_, cache);
    std::vector<float> want;
    for (int32_t token = 0; token < 12; ++token) {
      want = Logits(*here, {token});
      Logits(*there, {token});
    }
    ASSERT_TRUE(there->Rewind(11).ok());
    ExpectNear(want, Logits(*there, {11}), 0.03F);
  }
}

TEST_P(DeviceDecoder, StepsPlanAndUploadNothing) {
  const auto decoder = Open(GetParam(), 128, 1, device_);
  Logits(*decoder, std::vector<int32_t>(40, 3));
  for (int32_t token : {1, 2, 3}) Logits(*decoder, {token});
  const exec::PreparationTimes before = decoder->session().preparation();
  const Transfers transfers = decoder->session().transfers();
  for (int32_t token = 0; token < 40; ++token) Logits(*decoder, {token});
  const exec::PreparationTimes after = decoder->session().preparation();
  EXPECT_EQ(before.plan_ns, after.plan_ns);
  EXPECT_EQ(before.kernels_ns, after.kernels_ns);
  EXPECT_EQ(before.weights_ns, after.weights_ns);
  // Tokens and logits go by buffers of the decoder's own; the session moves nothing.
  EXPECT_EQ(decoder->session().transfers().maps, transfers.maps);
  EXPECT_EQ(decoder->session().transfers().copies, transfers.copies);
}

TEST_P(DeviceDecoder, StepsTakeProductsOfOneRowTogether) {
  struct Case {
    uint32_t type;
    std::string_view kernel;
  };
  for (const Case& one : {Case{GetParam().type, "opencl.block_product.siblings"},
                          Case{1, "opencl.half_weights.siblings"}}) {
    SmallDecoder form = GetParam();
    form.type = one.type;
    const auto decoder = Open(form, 64, 1, device_);
    Logits(*decoder, {5});
    int64_t siblings = 0;
    for (const exec::StepProfile& step : decoder->session().profile())
      siblings += step.kernel == one.kernel ? 1 : 0;
    EXPECT_EQ(siblings, 2 * 2)
        << one.kernel;  // of each layer: queries, keys and values; gate and up
  }
}

/// A layer is queries, keys and values; attention with what turns them; its output; gate times up;
/// down.
TEST_P(DeviceDecoderTest, LayersOfAStepAreFiveKernels) {
  const auto decoder = Open(GetParam(), 64, 1, device_);
  Logits(*decoder, {5});
  int64_t kernels = 0;
  std::string names;
  for (const exec::StepProfile& step : decoder->session().profile()) {
    names += fmt::format("\n{}: {}", step.op, step.kernel);
    kernels += step.kernel.starts_with("opencl.") ? 1 : 0;
  }
  // Norms of queries and keys by head, and biases, are kernels of their own.
  const int64_t others = GetParam().architecture == "qwen3"   ? 6
                         : GetParam().architecture == "qwen2" ? 3
                                                              : 0;
  EXPECT_LE(kernels, 2 * (5 + others) + 3) << names;
}

std::vector<float> Copied(std::span<const float> values) { return {values.begin(), values.end()}; }

/// Spans of logits hold what they held until their own sequence has read more.
TEST_P(DeviceDecoder, LogitsStayUntilTheirSequenceReads) {
  std::atomic<bool> cancelled = false;
  language::DecoderOptions options;
  options.context = 64;
  options.device = device_;
  options.cancelled = &cancelled;
  auto made = language::SequenceDecoder::Create(*ReadText(WriteSmallDecoder(GetParam())), options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  language::SequenceDecoder& decoder = **made;
  std::span<const float> logits;
  ASSERT_TRUE(decoder.Read(std::vector<int32_t>{5, 17, 90}, &logits).ok());
  const std::vector<float> want = Copied(logits);
  std::vector<float> of_fork;
  for (int i = 0; i < 2; ++i) {
    const auto fork = decoder.Fork();  // the second has the cache that the first gave back
    ASSERT_TRUE(fork.ok()) << fork.status().message();
    of_fork = Logits(**fork, {3});
    EXPECT_NE(of_fork, want);
    EXPECT_EQ(Copied(logits), want);
  }
  EXPECT_FALSE(decoder.Read(std::vector<int32_t>{1 << 20}, &logits).ok());
  cancelled = true;
  // A run of the length before, and one of another.
  for (const size_t length : {3, 1})
    EXPECT_EQ(decoder.Read(std::vector<int32_t>(length, 7), &logits).code(),
              StatusCode::kCancelled);
  cancelled = false;
  std::vector<std::byte> saved(decoder.saved_bytes());
  ASSERT_TRUE(decoder.Save(saved).ok());
  ASSERT_TRUE(decoder.Rewind(1).ok());
  ASSERT_TRUE(decoder.Restore(saved).ok());
  EXPECT_EQ(Copied(logits), want);
  EXPECT_EQ(Copied(decoder.logits()), want);
  EXPECT_EQ(Logits(decoder, {3}), of_fork);
}

/// Each in a thread of its own, while others read.
TEST_P(DeviceDecoder, SequencesInThreadsKeepTheirLogits) {
  const auto decoder = Open(GetParam(), 64, 1, device_);
  Logits(*decoder, {5, 17, 90});
  std::vector<std::unique_ptr<language::SequenceDecoder>> sequences;
  std::vector<std::vector<std::vector<float>>> want(3);
  for (int32_t i = 0; i < 3; ++i) {
    auto fork = decoder->Fork();
    ASSERT_TRUE(fork.ok()) << fork.status().message();
    sequences.push_back(std::move(*fork));
    const auto alone = decoder->Fork();
    for (int32_t step = 0; step < 8; ++step) want[i].push_back(Logits(**alone, {7 * i + step}));
  }
  const auto read = [&](int32_t i) {
    std::span<const float> logits;
    for (int32_t step = 0; step < 8; ++step) {
      EXPECT_TRUE(sequences[i]->Read(std::vector<int32_t>{7 * i + step}, &logits).ok());
      for (int look = 0; look < 20; ++look) EXPECT_EQ(Copied(logits), want[i][step]);
    }
    sequences[i].reset();  // while others read
  };
  std::vector<std::jthread> threads;
  for (int32_t i = 0; i < 3; ++i) threads.emplace_back(read, i);
}

TEST_P(DeviceDecoder, ForksAndSavesHoldTheirTokens) {
  const auto decoder = Open(GetParam(), 64, 1, device_);
  Logits(*decoder, {5, 17, 90, 3});
  const auto fork = decoder->Fork();
  ASSERT_TRUE(fork.ok()) << fork.status().message();
  std::vector<std::byte> saved(decoder->saved_bytes());
  ASSERT_TRUE(decoder->Save(saved).ok());
  Logits(*decoder, {9, 9, 9});  // what the first reads is not the fork's
  const std::vector<float> want = Logits(**fork, {41, 60});
  ASSERT_TRUE(decoder->Restore(saved).ok());
  EXPECT_EQ(Logits(*decoder, {41, 60}), want);
  // A cache goes on on the other device.
  const auto here = Open(GetParam(), 64);
  ASSERT_TRUE(here->Restore(saved).ok());
  ExpectNear(Logits(*here, {41, 60}), want, 0.03F);
}

INSTANTIATE_TEST_SUITE_P(One, DeviceDecoder, testing::Values(SmallDecoder{}));

}  // namespace
}  // namespace fettle
