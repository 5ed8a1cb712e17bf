// Turns words into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "language/tokens/json_file.h"

namespace fettle::language {

using Vocabulary = std::unordered_map<std::string, int32_t>;

/// The tokens of a word. Immutable, thread-safe.
class WordModel {
 public:
  virtual ~WordModel() = default;
  /// Adds the tokens of a word, which is UTF-8.
  virtual void Encode(std::string_view word, std::vector<int32_t>& to) const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Tokens of names that others have in the vocabulary.
  const std::vector<std::pair<int32_t, std::string>>& repeated() const { return repeated_; }

 protected:
  Vocabulary vocabulary_;
  std::vector<std::pair<int32_t, std::string>> repeated_;
};

/// Tokens have numbers below this.
inline constexpr int64_t kMostTokenNumbers = int64_t{1} << 24;

/// The member 'model' of a tokenizer.json: BPE, Unigram, WordPiece or WordLevel. kUnsupported
/// naming others, kInvalidModel where members are missing or do not fit.
Result<std::unique_ptr<const WordModel>> ReadWordModel(const Json& json);

/// Parts of ReadWordModel.
Result<std::unique_ptr<WordModel>> ReadBpe(const Json& json, Vocabulary vocabulary);
Result<std::unique_ptr<WordModel>> ReadUnigram(const Json& json);

/// The tokens <0x00> to <0xFF>, -1 where there is none.
class ByteTokens {
 public:
  ByteTokens() = default;
  explicit ByteTokens(const Vocabulary& vocabulary);
  /// Adds one for each byte; false, with none added, where one is missing.
  bool Encode(std::string_view bytes, std::vector<int32_t>& to) const;

 private:
  std::vector<int32_t> tokens_;  // 256, or none
};

}  // namespace fettle::language
