// How byte-level tokenizers cut a text before they merge bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "language/tokens/word_pattern.h"

namespace fettle::language {

/// Regular expressions of tokenizers.
enum class WordRule {
  kGpt2,         // words, numbers and the rest, each with the space before it
  kDigits,       // every number alone, then as GPT-2 (SmolLM, StarCoder)
  kLlama3,       // runs of up to three digits, line ends with what stands before them
  kQwen2,        // the same with every digit alone
  kTekken,       // the same, and words end where a lower-case letter meets an upper-case one
  kGpt4o,        // as kTekken, with runs of up to three digits, and contractions in their words
  kExpressions,  // those of the form, one after another
};
/// What a name in 'tokenizer.ggml.pre' stands for.
struct WordForm {
  WordRule rule = WordRule::kGpt2;
  bool keeps_words = false;  // that are tokens: they are not merged from their bytes
  bool begins = false;       // texts with the token for that, unless the file says otherwise
  /// Matches of each, and what lies between them, are cut by the next one.
  std::span<const std::string_view> expressions = {};
};
/// Nothing where the name is unknown; WordFormNames lists the known ones.
std::optional<WordForm> FindWordForm(std::string_view name);
std::string WordFormNames();

/// The pieces by a rule that is no list of expressions, which make up the whole text.
std::vector<std::string_view> SplitWords(std::string_view text, WordRule rule);

/// A form that is ready for texts. Immutable, thread-safe.
class WordSplitter {
 public:
  static Result<WordSplitter> Create(const WordForm& form);
  /// The pieces, which make up the whole text.
  std::vector<std::string_view> Split(std::string_view text) const;

 private:
  WordRule rule_ = WordRule::kGpt2;
  std::vector<std::shared_ptr<const WordPattern>> patterns_;
};

}  // namespace fettle::language
