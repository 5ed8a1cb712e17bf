#include "language/tokens/word_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "language/code_points.h"

namespace fettle::language {
namespace {

Result<Vocabulary> ReadVocabulary(const Json& json) {
  ASSIGN_OR_RETURN(const Json* vocab, Need(json, "vocab"));
  if (!vocab->is_object()) return InvalidModel("'vocab': expected an object");
  Vocabulary made;
  made.reserve(vocab->size());
  for (const auto& [name, number] : vocab->items()) {
    const int64_t id = number.is_number_integer() ? number.get<int64_t>() : -1;
    if (id < 0 || id >= kMostTokenNumbers)
      return InvalidModel("'vocab': token '{}' has no number of 0 to {}", name,
                          kMostTokenNumbers - 1);
    made.emplace(name, static_cast<int32_t>(id));
  }
  return made;
}

Result<int32_t> UnknownToken(const Json& json, const Vocabulary& vocabulary,
                             std::string_view usual) {
  ASSIGN_OR_RETURN(const std::string name, TextOf(json, "unk_token", usual));
  const auto found = vocabulary.find(name);
  if (found == vocabulary.end())
    return InvalidModel("'unk_token': '{}' is not in the vocabulary", name);
  return found->second;
}

/// Whole words.
class WordLevel final : public WordModel {
 public:
  WordLevel(Vocabulary vocabulary, int32_t unknown) : unknown_(unknown) {
    vocabulary_ = std::move(vocabulary);
  }
  void Encode(std::string_view word, std::vector<int32_t>& to) const override {
    const auto found = vocabulary_.find(std::string(word));
    to.push_back(found == vocabulary_.end() ? unknown_ : found->second);
  }

 private:
  int32_t unknown_;
};

/// The longest token that begins what is left of a word.
class WordPiece final : public WordModel {
 public:
  WordPiece(Vocabulary vocabulary, int32_t unknown, std::string prefix, int64_t most)
      : unknown_(unknown), prefix_(std::move(prefix)), most_(most) {
    vocabulary_ = std::move(vocabulary);
    for (const auto& [name, id] : vocabulary_) longest_ = std::max(longest_, name.size());
  }

  void Encode(std::string_view word, std::vector<int32_t>& to) const override {
    const std::vector<CodePoint> points = CodePointsOf(word);
    const size_t before = to.size();
    if (std::ssize(points) > most_) return to.push_back(unknown_);
    std::string name;
    for (size_t at = 0; at < word.size();) {
      const std::string_view lead = at == 0 ? std::string_view() : prefix_;
      size_t end = std::min(word.size(), at + longest_);
      int32_t token = -1;
      for (; end > at && token < 0; --end) {
        if (end < word.size() && (static_cast<uint8_t>(word[end]) & 0xc0) == 0x80) continue;
        name.assign(lead).append(word.substr(at, end - at));
        const auto found = vocabulary_.find(name);
        if (found != vocabulary_.end()) token = found->second;
      }
      if (token < 0) {
        to.resize(before);
        return to.push_back(unknown_);
      }
      to.push_back(token);
      at = end + 1;  // behind the last character tried
    }
  }

 private:
  int32_t unknown_;
  std::string prefix_;
  int64_t most_;
  size_t longest_ = 0;
};

Result<std::unique_ptr<WordModel>> ReadWordPiece(const Json& json, Vocabulary vocabulary) {
  ASSIGN_OR_RETURN(const int32_t unknown, UnknownToken(json, vocabulary, "[UNK]"));
  ASSIGN_OR_RETURN(std::string prefix, TextOf(json, "continuing_subword_prefix", "##"));
  ASSIGN_OR_RETURN(const int64_t most, IntOf(json, "max_input_chars_per_word", 100));
  return std::make_unique<WordPiece>(std::move(vocabulary), unknown, std::move(prefix), most);
}

/// Files that old versions wrote do not name the kind of their model.
std::string KindOf(const Json& json) {
  const std::string type = TypeOf(json);
  if (!type.empty()) return type;
  if (Find(json, "merges") != nullptr) return "BPE";
  const Json* vocab = Find(json, "vocab");
  return vocab != nullptr && vocab->is_array() ? "Unigram" : "WordPiece";
}

Result<std::unique_ptr<WordModel>> ReadKind(const Json& json, const std::string& kind) {
  if (kind == "Unigram") return ReadUnigram(json);
  if (kind != "BPE" && kind != "WordPiece" && kind != "WordLevel")
    return Unsupported("model '{}' is not supported; supported: BPE, Unigram, WordPiece, WordLevel",
                       kind);
  ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(json));
  if (kind == "BPE") return ReadBpe(json, std::move(vocabulary));
  if (kind == "WordPiece") return ReadWordPiece(json, std::move(vocabulary));
  ASSIGN_OR_RETURN(const int32_t unknown, UnknownToken(json, vocabulary, "<unk>"));
  return std::make_unique<WordLevel>(std::move(vocabulary), unknown);
}

}  // namespace

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = vocabulary.find(fmt::format("<0x{:02X}>", byte));
    tokens_.push_back(found == vocabulary.end() ? -1 : found->second);
  }
}

bool ByteTokens::Encode(std::string_view bytes, std::vector<int32_t>& to) const {
  const auto token = [&](char byte) { return tokens_[static_cast<uint8_t>(byte)]; };
  if (tokens_.empty() || std::ranges::any_of(bytes, [&](char byte) { return token(byte) < 0; }))
    return false;
  for (char byte : bytes) to.push_back(token(byte));
  return true;
}

Result<std::unique_ptr<const WordModel>> ReadWordModel(const Json& json) {
  const std::string kind = KindOf(json);
  auto made = ReadKind(json, kind);
  if (!made.ok()) return made.status().WithContext("model " + kind);
  return std::unique_ptr<const WordModel>(std::move(*made));
}

}  // namespace fettle::language
