// Where byte-level tokenizers cut a text before they merge bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fettle::language {

/// The rules that GGUF files name in 'tokenizer.ggml.pre'.
enum class WordRule {
  kGpt2,    // words, numbers and the rest, each with the space before it
  kDigits,  // every number alone, then as GPT-2 (SmolLM, StarCoder)
  kLlama3,  // runs of up to three digits, line ends with what stands before them
  kQwen2,   // the same with every digit alone
};
/// Nothing where the name is unknown; WordRuleNames lists the known ones.
std::optional<WordRule> FindWordRule(std::string_view name);
std::string WordRuleNames();

/// The pieces, which make up the whole text.
std::vector<std::string_view> SplitWords(std::string_view text, WordRule rule);

}  // namespace fettle::language
