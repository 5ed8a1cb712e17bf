// GGUF files that Fettle does not read: of unknown kinds, hostile, and used beyond what they hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "language/generator.h"
#include "tests/language/open_decoder.h"

namespace fettle {
namespace {

TEST(SequenceDecoderTest, ContextsEndWithThePositionsThatTheModelHas) {
  language::DecoderOptions options;
  options.context = 129;
  const auto file = ReadText(WriteSmallDecoder({.architecture = "gpt2"}));
  const auto made = language::SequenceDecoder::Create(*file, options);
  EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(made.status().message().find("the model has 128 positions"), std::string::npos);
}

TEST(GgufFileTest, NamesWhatItDoesNotKnow) {
  SmallDecoder form;
  form.architecture = "rwkv7";
  const auto file = ReadText(WriteSmallDecoder(form));
  ASSERT_TRUE(file.ok());
  const auto decoder = gguf::ReadDecoder(**file);
  EXPECT_EQ(decoder.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(decoder.status().message().find("falcon, falcon-h1, gemma, gemma2"), std::string::npos);
  GgufWriter unknown;
  unknown.Tensor("x", 99, {32}, std::string(64, 'x'));
  const auto other = ReadText(unknown.Finish());
  EXPECT_EQ(other.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(other.status().message().find("Q4_K"), std::string::npos);
}

TEST(GgufFileTest, HostileFilesGiveStatuses) {
  const std::string whole = WriteSmallDecoder();
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    // Mostly in the header, where lengths and types are.
    const size_t end = i % 3 == 0 ? bytes.size() : 2500;
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0 && !bytes.empty(); --flips) {
      const size_t at = random() % std::min(end, bytes.size());
      if (random() % 2 == 0) {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      } else {
        const uint64_t huge = uint64_t{1} << (random() % 64);
        std::memcpy(bytes.data() + at, &huge, std::min<size_t>(8, bytes.size() - at));
      }
    }
    const auto file = ReadText(bytes);
    if (!file.ok()) continue;
    language::DecoderOptions options;
    options.context = 8;
    auto decoder = language::SequenceDecoder::Create(*file, options);
    if (!decoder.ok()) continue;
    std::span<const float> logits;
    (void)(*decoder)->Read(std::vector<int32_t>{1, 2, 3}, &logits);
  }
}

}  // namespace
}  // namespace fettle
