// Tokenizers of tokenizer.json files.
#include "language/tokens/json_tokenizer.h"

#include <gtest/gtest.h>

#include "language/tokens/word_pattern.h"

namespace fettle::language {
namespace {

/// Small tokenizers, with texts and their tokens by the package `tokenizers`
/// (tests/language/tokenizer_values --record).
Json Recorded() {
  auto json = ReadJsonFile(FETTLE_SOURCE_DIR "/tests/language/tokenizers.json");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return (*json)["cases"];
}

Status RefusalOf(const Json& json) { return ReadTokenizer(json, "t.json").status(); }

TEST(JsonTokenizerTest, TokensAreThoseOfTheirPackage) {
  for (const Json& one : Recorded()) {
    const auto tokenizer = ReadTokenizer(one["tokenizer"], "t.json");
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    for (const Json& row : one["texts"]) {
      const std::string text = row[0].get<std::string>();
      EXPECT_EQ((*tokenizer)->Encode(text, true), row[1].get<std::vector<int32_t>>())
          << one["kind"] << ": " << text;
    }
  }
}

TEST(JsonTokenizerTest, BytesThatAreNoTextComeBack) {
  Json bytes_alone = Recorded()[0]["tokenizer"];
  bytes_alone["pre_tokenizer"] = Json::parse(R"({"type":"ByteLevel","add_prefix_space":false})");
  const auto tokenizer = ReadTokenizer(bytes_alone, "t.json");
  ASSERT_TRUE(tokenizer.ok());
  for (const std::string bytes : {"\x80", "a\xc3", "\xf0\x9f\x98", "x\xffy\xc3\xa4"}) {
    std::string back;
    for (int32_t token : (*tokenizer)->Encode(bytes, false)) back += (*tokenizer)->Decode(token);
    EXPECT_EQ(back, bytes);
  }
  EXPECT_EQ((*tokenizer)->Decode(-1), "");
  EXPECT_EQ((*tokenizer)->Decode(1 << 30), "");
}

TEST(JsonTokenizerTest, NamesOfControlTokensAreTextUnlessAsked) {
  const auto tokenizer = ReadTokenizer(Recorded()[0]["tokenizer"], "t.json");
  ASSERT_TRUE(tokenizer.ok());
  const int32_t end = (*tokenizer)->Find("<|end|>");
  ASSERT_GE(end, 0);
  EXPECT_TRUE((*tokenizer)->IsEnd(end));
  EXPECT_EQ((*tokenizer)->Encode("<|end|>", true), (std::vector<int32_t>{end}));
  EXPECT_GT((*tokenizer)->Encode("<|end|>", false).size(), 1U);
  EXPECT_EQ((*tokenizer)->Decode(end), "");
}

TEST(JsonTokenizerTest, RefusesWhatItDoesNotKnow) {
  const Json whole = Recorded()[0]["tokenizer"];
  const auto with = [&](const char* key, const char* value) {
    Json changed = whole;
    changed[key] = Json::parse(value);
    return RefusalOf(changed);
  };
  const auto expect = [](const Status& status, StatusCode code, const char* text) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  using enum StatusCode;
  expect(with("normalizer", R"({"type":"Other"})"), kUnsupported, "normalizer 'Other'");
  expect(with("normalizer", R"({"type":"Precompiled"})"), kInvalidModel, "precompiled_charsmap");
  expect(with("pre_tokenizer", R"({"type":"FixedLength","length":0})"), kInvalidModel, "'length'");
  expect(with("pre_tokenizer", R"({"type":"UnicodeScripts"})"), kUnsupported,
         "supported: Sequence");
  expect(with("decoder", R"({"type":"CTC"})"), kUnsupported, "decoder 'CTC'");
  expect(with("model", R"({"type":"Other"})"), kUnsupported, "BPE, Unigram, WordPiece");
  expect(with("model", "null"), kInvalidModel, "'model' is missing");
  expect(with("model", R"({"type":"BPE","vocab":{"a":0},"merges":["a b"]})"), kInvalidModel,
         "'b' is not in the vocabulary");
  expect(with("model", R"({"type":"BPE","vocab":{"a":-1},"merges":[]})"), kInvalidModel, "'a'");
  expect(with("model", R"({"type":"BPE","vocab":{"a\nb":-1},"merges":[]})"), kInvalidModel,
         "'a\\x0ab'");
  expect(with("model", R"({"type":"BPE","dropout":0.1,"vocab":{},"merges":[]})"), kUnsupported,
         "dropout");
  expect(
      with("pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"(("},"behavior":"Isolated"})"),
      kUnsupported, "regular expression '(('");
  expect(with("added_tokens", R"([{"id":99999999999,"content":"x"}])"), kInvalidModel, "'x'");
  EXPECT_FALSE(ParseJson("[1]", "t.json").ok());
  EXPECT_FALSE(ParseJson("{\"a\":", "t.json").ok());
}

TEST(JsonTokenizerTest, UnknownCharactersCostMoreThanAnyToken) {
  const Json json = Json::parse(
      R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1],["ab",-12]]}})");
  const auto tokenizer = ReadTokenizer(json, "t.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ((*tokenizer)->Encode("ab", true), (std::vector<int32_t>{2}));
  EXPECT_EQ((*tokenizer)->Encode("axxa", true), (std::vector<int32_t>{1, 0, 1}));
}

TEST(WordPatternTest, ExpressionsThatNeverEndStop) {
  const auto pattern = WordPattern::Create("(a+)+$");
  ASSERT_TRUE(pattern.ok());
  const std::string text = std::string(4000, 'a') + "b";
  const auto ranges = (*pattern)->Split(text);
  ASSERT_FALSE(ranges.empty());
  EXPECT_EQ(ranges.front().begin, 0U);
  EXPECT_EQ(ranges.back().end, text.size());
}

}  // namespace
}  // namespace fettle::language
