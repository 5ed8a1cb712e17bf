// Tokenizers and chats without a model.
#include "language/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "language/chat.h"
#include "language/code_points.h"
#include "language/split_words.h"
#include "tests/language/small_decoder.h"

namespace fettle::language {
namespace {

std::unique_ptr<const Tokenizer> Make(const GgufWriter& writer) {
  const auto owner = std::make_shared<std::string>(writer.Finish());
  auto file = gguf::File::Read(std::as_bytes(std::span(*owner)), owner, "t.gguf");
  EXPECT_TRUE(file.ok()) << file.status().message();
  auto tokenizer = Tokenizer::Create(**file);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::move(*tokenizer);
}

std::vector<std::string> Words(std::string_view text, WordRule rule) {
  std::vector<std::string> words;
  for (std::string_view word : SplitWords(text, rule)) words.emplace_back(word);
  return words;
}

TEST(SplitWordsTest, AsTheRegularExpressionsDo) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Words("I'll see  you at 10:30\n\n x", WordRule::kGpt2),
            (Texts{"I", "'ll", " see", " ", " you", " at", " 10", ":", "30", "\n\n", " x"}));
  EXPECT_EQ(Words("a  12b", WordRule::kDigits), (Texts{"a", "  ", "1", "2", "b"}));
  EXPECT_EQ(Words("a 12345!\n\nB'LL", WordRule::kLlama3),
            (Texts{"a", " ", "123", "45", "!\n\n", "B", "'LL"}));
  EXPECT_EQ(Words("a\t\tb 12 \r\n c", WordRule::kQwen2),
            (Texts{"a", "\t", "\tb", " ", "1", "2", " \r\n", " c"}));
  EXPECT_EQ(Words("anHTTPServer's 12a/b", WordRule::kTekken),
            (Texts{"an", "HTTPServer", "'s", " ", "1", "2", "a", "/b"}));
  EXPECT_EQ(Words("XMLs'LL 1234 ABC!/\n\xc3\x84rGer", WordRule::kGpt4o),
            (Texts{"XMLs'LL", " ", "123", "4", " ABC", "!/\n", "\xc3\x84r", "Ger"}));
}

std::vector<std::string> WordsOf(std::string_view text, const char* name) {
  const Result<WordSplitter> splitter = WordSplitter::Create(*FindWordForm(name));
  EXPECT_TRUE(splitter.ok()) << splitter.status().message();
  std::vector<std::string> words;
  for (std::string_view word : splitter->Split(text)) words.emplace_back(word);
  return words;
}

TEST(SplitWordsTest, ExpressionsCutOneAfterAnother) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(WordsOf("it's 12345  (a)\n", "falcon"),
            (Texts{"it", "'", "s", " ", "123", "45", "  ", "(", "a", ")", "\n"}));
  EXPECT_EQ(WordsOf("it's 12345 .ab\n", "deepseek-v3"),
            (Texts{"it", "'s", " ", "123", "45", " .", "ab", "\n"}));
  EXPECT_EQ(WordsOf("ab\xff\xfe"
                    "12\xc3",
                    "deepseek-llm"),
            (Texts{"ab", "\xff", "\xfe", "12", "\xc3"}));
  EXPECT_EQ(WordsOf("a 1", "qwen2"), (Texts{"a", " ", "1"}));
  EXPECT_TRUE(WordsOf("", "bloom").empty());
}

TEST(SplitWordsTest, NamesOfFilesHaveRules) {
  EXPECT_EQ(FindWordForm("deepseek-r1-qwen")->rule, WordRule::kQwen2);
  EXPECT_TRUE(FindWordForm("tekken")->keeps_words);
  EXPECT_TRUE(FindWordForm("llama-bpe")->begins);
  EXPECT_FALSE(FindWordForm("llama4")->begins);
  EXPECT_FALSE(FindWordForm("nonesuch").has_value());
}

TEST(SplitWordsTest, PiecesMakeUpTheText) {
  std::mt19937 random(3);
  constexpr std::string_view kParts[] = {"a",  "1", " ", "\n",       "'",        "s",  "!",
                                         "\r", "L", "é", "\xe3\x80", "\xff\xfe", "漢", "\xc2\xa0"};
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (int n = static_cast<int>(random() % 20); n > 0; --n)
      text += kParts[random() % std::size(kParts)];
    for (WordRule rule : {WordRule::kGpt2, WordRule::kDigits, WordRule::kLlama3, WordRule::kQwen2,
                          WordRule::kTekken, WordRule::kGpt4o}) {
      std::string all;
      for (std::string_view word : SplitWords(text, rule)) {
        EXPECT_FALSE(word.empty());
        all += word;
      }
      EXPECT_EQ(all, text);
    }
  }
}

TEST(TokenizerTest, MergesByRankAndFindsSpecials) {
  GgufWriter writer;
  writer.Text("tokenizer.ggml.model", "gpt2");
  writer.Texts("tokenizer.ggml.tokens", {"a", "b", "c", "ab", "bc", "abc", "<|x|>"});
  writer.Numbers<int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, 1, 1, 1, 3});
  writer.Texts("tokenizer.ggml.merges", {"b c", "a b", "a bc"});
  const auto tokenizer = Make(writer);
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(tokenizer->Encode("abc", false), (Ids{5}));
  EXPECT_EQ(tokenizer->Encode("aba", false), (Ids{3, 0}));
  EXPECT_EQ(tokenizer->Encode("ab<|x|>c", true), (Ids{3, 6, 2}));
  EXPECT_EQ(tokenizer->Decode(5), "abc");
  EXPECT_EQ(tokenizer->Decode(6), "");
  EXPECT_EQ(tokenizer->Decode(99), "");
}

TEST(TokenizerTest, SentencePieceTakesTheBestScoreAndBytes) {
  GgufWriter writer;
  writer.Text("tokenizer.ggml.model", "llama");
  writer.Texts("tokenizer.ggml.tokens",
               {"<unk>", "<0xC3>", "<0xA9>", "\xe2\x96\x81", "a", "b", "ab",
                "\xe2\x96\x81"
                "a"});
  writer.Numbers<float>("tokenizer.ggml.scores", 6, {0, 0, 0, -9, -9, -9, -1, -2});
  writer.Int("tokenizer.ggml.unknown_token_id", 0);
  const auto tokenizer = Make(writer);
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(tokenizer->Encode("ab a", false), (Ids{3, 6, 7}));
  EXPECT_EQ(tokenizer->Encode("\xc3\xa9", false), (Ids{3, 1, 2}));
  EXPECT_EQ(tokenizer->Decode(7), " a");
  EXPECT_EQ(tokenizer->Decode(1) + tokenizer->Decode(2), "\xc3\xa9");
}

TEST(CodePointsTest, UnfinishedBytesAreHeldBack) {
  EXPECT_EQ(UnfinishedBytes("a\xe6\xbc"), 2u);
  EXPECT_EQ(UnfinishedBytes("a\xe6\xbc\xa2"), 0u);
  EXPECT_EQ(UnfinishedBytes("\xff"), 0u);
  EXPECT_EQ(UnfinishedBytes(""), 0u);
}

TEST(ChatTest, FormsAreThoseOfTheTemplates) {
  EXPECT_EQ(*ChatPrompt("{{ '<|im_start|>system\nBe kind<|im_end|>\n' }}", "", "Hi"),
            "<|im_start|>system\nBe kind<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(*ChatPrompt("[INST]", "S", "Q"), "[INST] S\n\nQ [/INST]");
  EXPECT_FALSE(ChatPrompt("", "", "Q").ok());
}

/// As llama.cpp's llama_chat_apply_template has them.
TEST(ChatTest, FormsOfOtherModels) {
  struct Case {
    std::string_view chat_template, prompt;
  };
  for (const Case& one : {
           Case{"<|im_start|>user<|im_sep|>",
                "<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>Q<|im_end|>"
                "<|im_start|>assistant<|im_sep|>"},
           Case{"<start_of_turn>",
                "<start_of_turn>user\nS\n\nQ<end_of_turn>\n<start_of_turn>model\n"},
           Case{"<|start_of_role|>",
                "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n"
                "<|start_of_role|>user<|end_of_role|>Q<|end_of_text|>\n"
                "<|start_of_role|>assistant<|end_of_role|>"},
           Case{"<｜User｜> <｜Assistant｜>", "S\n\n<｜User｜>Q<｜Assistant｜>"},
           Case{"[|user|]", "[|system|]S[|endofturn|]\n[|user|]Q\n[|assistant|]"},
           Case{"[|user|]\\n",
                "[|system|]\nS[|endofturn|]\n[|user|]\nQ[|endofturn|]\n"
                "[|assistant|]\n"},
           Case{"[gMASK]<sop><|user|>", "[gMASK]<sop><|system|>\nS<|user|>\nQ<|assistant|>\n"},
           Case{"<|user|> <|end|>", "<|system|>\nS<|end|>\n<|user|>\nQ<|end|>\n<|assistant|>\n"},
           Case{"'|>' + message['content'] + '<|end|>'",
                "<|system|>S<|end|><|user|>Q<|end|><|assistant|>"},
       })
    EXPECT_EQ(*ChatPrompt(one.chat_template, "S", "Q"), one.prompt);
}

}  // namespace
}  // namespace fettle::language
