// Regular expressions of tokenizers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::language {

/// Bytes [begin, end) of a text, and whether a pattern matched there.
struct MatchedRange {
  size_t begin = 0, end = 0;
  bool matched = false;
};

/// A regular expression as tokenizer.json files have them (Oniguruma's syntax with Unicode's
/// classes), by PCRE2. Immutable, thread-safe.
class WordPattern {
 public:
  /// kUnsupported with what PCRE2 says where it does not compile.
  static Result<std::shared_ptr<const WordPattern>> Create(std::string_view expression);
  /// Matches exactly `text`.
  static std::shared_ptr<const WordPattern> Literal(std::string_view text);
  ~WordPattern();
  WordPattern(const WordPattern&) = delete;
  WordPattern& operator=(const WordPattern&) = delete;

  /// The matches, from left to right, and what lies between them: ranges that are not empty and
  /// make up `text`, which is UTF-8. Where a match would take too many steps, the rest is
  /// unmatched.
  std::vector<MatchedRange> Split(std::string_view text) const;

 private:
  WordPattern() = default;
  std::string literal_;
  void* code_ = nullptr;  // pcre2_code; null: a literal
};

}  // namespace fettle::language
