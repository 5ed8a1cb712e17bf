// Decoders of small files, and what they make of tokens.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "language/generator.h"
#include "tests/language/small_decoder.h"

namespace fettle {

inline Result<std::shared_ptr<const gguf::File>> ReadText(const std::string& text) {
  const auto owner = std::make_shared<std::string>(text);
  return gguf::File::Read(std::as_bytes(std::span(*owner)), owner, "small.gguf");
}

inline std::unique_ptr<language::SequenceDecoder> Open(
    const SmallDecoder& form, int64_t context, int64_t sequences = 1,
    std::shared_ptr<const Device> device = nullptr, DType cache = DType::kF16) {
  auto file = ReadText(WriteSmallDecoder(form));
  EXPECT_TRUE(file.ok()) << file.status().message();
  language::DecoderOptions options;
  options.context = context;
  options.threads = 2;
  options.sequences = sequences;
  options.device = std::move(device);
  options.cache = cache;
  auto decoder = language::SequenceDecoder::Create(*file, options);
  EXPECT_TRUE(decoder.ok()) << decoder.status().message();
  return std::move(*decoder);
}

inline std::vector<float> Logits(language::SequenceDecoder& decoder,
                                 const std::vector<int32_t>& tokens) {
  std::span<const float> logits;
  const Status status = decoder.Read(tokens, &logits);
  EXPECT_TRUE(status.ok()) << status.message();
  return {logits.begin(), logits.end()};
}

inline void ExpectNear(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  float most = 0, range = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(a[i] - b[i]));
    range = std::max(range, std::fabs(a[i]));
  }
  EXPECT_GT(range, 0.01F);
  EXPECT_LE(most, tolerance * range);
}

}  // namespace fettle
