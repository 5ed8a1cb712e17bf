// Decoders whose layers keep states: where they go back to.
#include <gtest/gtest.h>

#include "language/generator.h"
#include "tests/language/open_decoder.h"

namespace fettle {
namespace {

/// A state is kept of where the last read began, and of no token.
TEST(StatesTest, StatesGoBackOneRead) {
  for (const char* name : {"lfm2", "mamba", "granitehybrid", "qwen35"}) {
    const SmallDecoder form = {.architecture = name};
    const auto decoder = Open(form, 64);
    const std::vector<float> first = Logits(*decoder, {5, 17, 90, 3});
    const std::vector<float> second = Logits(*decoder, {9, 8, 41, 22, 60, 7, 1});
    EXPECT_EQ(decoder->Rewind(2).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(decoder->position(), 11);
    ASSERT_TRUE(decoder->Rewind(4).ok());
    EXPECT_EQ(Logits(*decoder, {9, 8, 41, 22, 60, 7, 1}), second);
    ASSERT_TRUE(decoder->Rewind(4).ok());
    Logits(*decoder, {1});
    EXPECT_EQ(decoder->Rewind(3).code(), StatusCode::kInvalidArgument);
    ASSERT_TRUE(decoder->Rewind(0).ok());
    EXPECT_EQ(Logits(*decoder, {5, 17, 90, 3}), first);
    EXPECT_TRUE(decoder->Rewind(4).ok());
  }
}

}  // namespace
}  // namespace fettle
