// Tokens that stand in a text by their names, and are not made of its words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "language/tokens/normalizers.h"

namespace fettle::language {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;     // of control: it has no text
  bool whole_word = false;  // counts only where no word goes on before or behind it
  bool takes_left = false;  // with the spaces before it, or behind
  bool takes_right = false;
  bool normalised = false;  // is looked for in the text as the normalizer leaves it
};

/// The member 'added_tokens' of a tokenizer.json (null: none). kInvalidModel.
Result<std::vector<AddedToken>> ReadAddedTokens(const Json* json);

/// A part of a text: a token, or what lies between tokens (token -1).
struct TextPart {
  size_t begin = 0, end = 0;
  int32_t token = -1;
};

/// Finds some of the tokens in texts. Immutable, thread-safe.
class TokenFinder {
 public:
  TokenFinder() = default;
  explicit TokenFinder(std::vector<AddedToken> tokens);

  /// The longest token at each place, from left to right; those of control only where `special`.
  std::vector<TextPart> Split(std::string_view text, bool special) const;

 private:
  const AddedToken* FindAt(std::string_view text, size_t at, bool special) const;
  std::vector<AddedToken> tokens_;
  std::array<std::vector<int32_t>, 256> by_byte_;  // those that begin with it, longest first
};

}  // namespace fettle::language
