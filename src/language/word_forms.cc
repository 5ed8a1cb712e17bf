// The names of rules in files, and those that are lists of regular expressions.
#include <utility>

#include "language/split_words.h"

namespace fettle::language {
namespace {

constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
/// Letters that have cases: those of Latin, Greek, Cyrillic, Armenian and others.
constexpr std::string_view kCasedWords =
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-)"
    R"(\x{293}\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386})"
    R"(\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f})"
    R"(\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba})"
    R"(\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-)"
    R"(\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59})"
    R"(\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-)"
    R"(\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec})"
    R"(\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-)"
    R"(\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-)"
    R"(\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4})"
    R"(\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f})"
    R"(\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-)"
    R"(\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3})"
    R"(\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df})"
    R"(\x{1e900}-\x{1e943}]+)";
constexpr std::string_view kEastAsian = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";
constexpr std::string_view kSentenceWords =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)";
constexpr std::string_view kDefault[] = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Words, R"(\p{N}+)",
                                         "[0-9][0-9][0-9]"};
constexpr std::string_view kDeepSeek[] = {
    R"([\r\n])",
    kCasedWords,
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
    R"(\s+$)",
    kEastAsian,
    R"(\p{N}+)"};
constexpr std::string_view kDeepSeekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                               kEastAsian, R"(\p{N})"};
constexpr std::string_view kDeepSeek3[] = {
    R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kFalcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Words, "[0-9][0-9][0-9]"};
constexpr std::string_view kBloom[] = {kSentenceWords};
constexpr std::string_view kViking[] = {kSentenceWords, R"(\p{N})"};
constexpr std::string_view kBailing[] = {
    R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr std::string_view kSeedCoder[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1})"
    R"(| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr WordForm kLlama3Form{.rule = WordRule::kLlama3, .keeps_words = true, .begins = true};
constexpr std::pair<std::string_view, WordForm> kWordForms[] = {
    {"a.x-4.0", {WordRule::kGpt2}},
    {"bailingmoe", {.rule = WordRule::kExpressions, .expressions = kBailing}},
    {"bailingmoe2", {.rule = WordRule::kExpressions, .expressions = kBailing}},
    {"bloom", {.rule = WordRule::kExpressions, .expressions = kBloom}},
    {"chatglm-bpe", {WordRule::kLlama3}},
    {"codeshell", {WordRule::kDigits}},
    {"command-r", {WordRule::kDigits}},
    {"dbrx", {WordRule::kLlama3}},
    {"deepseek-coder", {.rule = WordRule::kExpressions, .expressions = kDeepSeekCoder}},
    {"deepseek-llm", {.rule = WordRule::kExpressions, .expressions = kDeepSeek}},
    {"deepseek-r1-qwen", {WordRule::kQwen2}},
    {"deepseek-v3", {.rule = WordRule::kExpressions, .expressions = kDeepSeek3}},
    {"default", {.rule = WordRule::kExpressions, .expressions = kDefault}},
    {"exaone", {WordRule::kDigits}},
    {"exaone4", {WordRule::kGpt2}},
    {"falcon", {.rule = WordRule::kExpressions, .expressions = kFalcon}},
    {"falcon3", kLlama3Form},
    {"gigachat", {WordRule::kGpt2}},
    {"glm4", {.rule = WordRule::kLlama3, .keeps_words = true}},
    {"gpt-2", {WordRule::kGpt2}},
    {"gpt-4o", {WordRule::kGpt4o}},
    {"gpt3-finnish", {.rule = WordRule::kExpressions, .expressions = kBloom}},
    {"granite-docling", {WordRule::kGpt2}},
    {"hunyuan", {WordRule::kQwen2}},
    {"hunyuan-dense", {.rule = WordRule::kExpressions, .expressions = kDeepSeek3}},
    {"jais", {WordRule::kGpt2}},
    {"lfm2", kLlama3Form},
    {"llada-moe", {.rule = WordRule::kExpressions, .expressions = kBailing}},
    {"llama-bpe", kLlama3Form},
    {"llama-v3", kLlama3Form},
    {"llama3", kLlama3Form},
    {"llama4", {WordRule::kGpt4o}},
    {"megrez", {WordRule::kQwen2}},
    {"mellum", {WordRule::kGpt2}},
    {"midm-2.0", kLlama3Form},
    {"minerva-7b", {WordRule::kDigits}},
    {"minimax-m2", {WordRule::kGpt4o}},
    {"mpt", {WordRule::kGpt2}},
    {"olmo", {WordRule::kGpt2}},
    {"phi-2", {WordRule::kGpt2}},
    {"pixtral", kLlama3Form},
    {"poro-chat", {.rule = WordRule::kExpressions, .expressions = kBloom}},
    {"qwen2", {WordRule::kQwen2}},
    {"refact", {WordRule::kDigits}},
    {"seed-coder", {.rule = WordRule::kExpressions, .expressions = kSeedCoder}},
    {"smaug-bpe", {WordRule::kLlama3}},
    {"smollm", {WordRule::kDigits}},
    {"solar-open", {WordRule::kQwen2}},
    {"stablelm2", {WordRule::kQwen2}},
    {"starcoder", {WordRule::kDigits}},
    {"tekken", {.rule = WordRule::kTekken, .keeps_words = true, .begins = true}},
    {"trillion", {WordRule::kGpt2}},
    {"viking", {.rule = WordRule::kExpressions, .expressions = kViking}},
};

}  // namespace

std::optional<WordForm> FindWordForm(std::string_view name) {
  for (const auto& [known, form] : kWordForms)
    if (known == name) return form;
  return std::nullopt;
}

std::string WordFormNames() {
  std::string names;
  for (const auto& [name, form] : kWordForms) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace fettle::language
