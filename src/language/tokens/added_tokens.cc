#include "language/tokens/added_tokens.h"

#include <algorithm>

#include "language/tokens/characters.h"
#include "language/tokens/word_models.h"

namespace fettle::language {
namespace {

Result<AddedToken> ReadToken(const Json& json) {
  AddedToken token;
  ASSIGN_OR_RETURN(token.content, TextOf(json, "content", ""));
  ASSIGN_OR_RETURN(const int64_t id, IntOf(json, "id", -1));
  if (id < 0 || id >= kMostTokenNumbers)
    return InvalidModel("'id': token '{}' has no number of 0 to {}", token.content,
                        kMostTokenNumbers - 1);
  token.id = static_cast<int32_t>(id);
  ASSIGN_OR_RETURN(token.special, FlagOf(json, "special", false));
  ASSIGN_OR_RETURN(token.whole_word, FlagOf(json, "single_word", false));
  ASSIGN_OR_RETURN(token.takes_left, FlagOf(json, "lstrip", false));
  ASSIGN_OR_RETURN(token.takes_right, FlagOf(json, "rstrip", false));
  ASSIGN_OR_RETURN(token.normalised, FlagOf(json, "normalized", !token.special));
  return token;
}

/// Where the character before `at` begins.
size_t Before(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80);
  return at;
}

uint32_t CodeAt(std::string_view text, size_t at) {
  return CodePointsOf(text.substr(at, 4))[0].value;
}

}  // namespace

Result<std::vector<AddedToken>> ReadAddedTokens(const Json* json) {
  std::vector<AddedToken> tokens;
  if (json == nullptr) return tokens;
  if (!json->is_array()) return InvalidModel("'added_tokens': expected a list");
  for (const Json& row : *json) {
    auto token = ReadToken(row);
    if (!token.ok()) return token.status().WithContext("'added_tokens'");
    tokens.push_back(std::move(*token));
  }
  return tokens;
}

TokenFinder::TokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].content.empty())
      by_byte_[static_cast<uint8_t>(tokens_[i].content[0])].push_back(static_cast<int32_t>(i));
  }
  for (std::vector<int32_t>& list : by_byte_)
    std::ranges::stable_sort(list, [&](int32_t a, int32_t b) {
      return tokens_[a].content.size() > tokens_[b].content.size();
    });
}

const AddedToken* TokenFinder::FindAt(std::string_view text, size_t at, bool special) const {
  for (int32_t i : by_byte_[static_cast<uint8_t>(text[at])]) {
    const AddedToken& token = tokens_[i];
    if (token.special && !special) continue;
    if (text.substr(at).starts_with(token.content)) return &token;
  }
  return nullptr;
}

std::vector<TextPart> TokenFinder::Split(std::string_view text, bool special) const {
  std::vector<TextPart> parts;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = FindAt(text, at, special);
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + token->content.size();
    at = end;
    const bool goes_on =
        token->whole_word && ((begin > 0 && IsWordPart(CodeAt(text, Before(text, begin)))) ||
                              (end < text.size() && IsWordPart(CodeAt(text, end))));
    if (goes_on) continue;
    while (token->takes_left && begin > done && IsSpace(CodeAt(text, Before(text, begin))))
      begin = Before(text, begin);
    if (token->takes_left) begin = std::max(begin, done);
    while (token->takes_right && end < text.size() && IsSpace(CodeAt(text, end))) {
      do ++end;
      while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80);
    }
    if (begin > done) parts.push_back({done, begin, -1});
    if (begin < end) parts.push_back({begin, end, token->id});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), -1});
  return parts;
}

}  // namespace fettle::language
