// Byte-pair encoding: neighbours are merged in the order of a list.
#include <optional>

#include "language/code_points.h"
#include "language/merge_symbols.h"
#include "language/tokens/word_models.h"

namespace fettle::language {
namespace {

struct RankedMerge {
  int32_t rank = 0, token = 0;
};

struct BpeOptions {
  int32_t unknown = -1;  // -1: characters that are no token are left out
  bool fuses_unknown = false, keeps_words = false;
  std::string prefix, suffix;  // of characters behind a word's first, and of its last
  ByteTokens bytes;
};

class Bpe final : public WordModel {
 public:
  Bpe(Vocabulary vocabulary, std::unordered_map<uint64_t, RankedMerge> merges, BpeOptions options)
      : merges_(std::move(merges)), options_(std::move(options)) {
    vocabulary_ = std::move(vocabulary);
  }

  void Encode(std::string_view word, std::vector<int32_t>& to) const override {
    const auto whole =
        options_.keeps_words ? vocabulary_.find(std::string(word)) : vocabulary_.end();
    if (whole != vocabulary_.end()) return to.push_back(whole->second);
    const auto join = [&](int32_t left, int32_t right) -> std::optional<Merge<int32_t>> {
      const auto found = merges_.find(Pair(left, right));
      if (found == merges_.end()) return std::nullopt;
      return Merge<int32_t>{-static_cast<double>(found->second.rank), found->second.token};
    };
    const std::vector<int32_t> symbols = MergeSymbols(SymbolsOf(word), join);
    to.insert(to.end(), symbols.begin(), symbols.end());
  }

  static uint64_t Pair(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

 private:
  std::vector<int32_t> SymbolsOf(std::string_view word) const {
    std::vector<int32_t> symbols;
    const std::vector<CodePoint> points = CodePointsOf(word);
    bool after_unknown = false;
    std::string name;
    for (size_t i = 0; i < points.size(); ++i) {
      const bool is_last = i + 1 == points.size();
      const size_t begin = points[i].begin, end = is_last ? word.size() : points[i + 1].begin;
      name.assign(i > 0 ? options_.prefix : "").append(word.substr(begin, end - begin));
      if (is_last) name += options_.suffix;
      const auto found = vocabulary_.find(name);
      const bool known = found != vocabulary_.end();
      if (known) symbols.push_back(found->second);
      if (known || options_.bytes.Encode(name, symbols)) {
        after_unknown = false;
        continue;
      }
      if (options_.unknown >= 0 && !(after_unknown && options_.fuses_unknown))
        symbols.push_back(options_.unknown);
      after_unknown = true;
    }
    return symbols;
  }

  std::unordered_map<uint64_t, RankedMerge> merges_;
  BpeOptions options_;
};

/// "left right", or ["left", "right"].
Result<std::pair<std::string, std::string>> ReadMerge(const Json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const size_t space = text.find(' ');
  if (space == std::string::npos || space == 0 || space + 1 == text.size())
    return InvalidModel("'merges': expected pairs of tokens");
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

Result<std::unordered_map<uint64_t, RankedMerge>> ReadMerges(const Json& json,
                                                             const Vocabulary& vocabulary,
                                                             const std::string& prefix) {
  std::unordered_map<uint64_t, RankedMerge> merges;
  ASSIGN_OR_RETURN(const Json* list, Need(json, "merges"));
  if (!list->is_array() || list->size() > kMostTokenNumbers)
    return InvalidModel("'merges': expected a list");
  merges.reserve(list->size());
  const auto number = [&](const std::string& name) -> Result<int32_t> {
    const auto found = vocabulary.find(name);
    if (found == vocabulary.end())
      return InvalidModel("'merges': '{}' is not in the vocabulary", name);
    return found->second;
  };
  int32_t rank = 0;
  for (const Json& merge : *list) {
    ASSIGN_OR_RETURN(const auto pair, ReadMerge(merge));
    ASSIGN_OR_RETURN(const int32_t left, number(pair.first));
    ASSIGN_OR_RETURN(const int32_t right, number(pair.second));
    if (!pair.second.starts_with(prefix))
      return InvalidModel("'merges': '{}' has no prefix '{}'", pair.second, prefix);
    ASSIGN_OR_RETURN(const int32_t token, number(pair.first + pair.second.substr(prefix.size())));
    merges.insert_or_assign(Bpe::Pair(left, right), RankedMerge{rank++, token});
  }
  return merges;
}

}  // namespace

Result<std::unique_ptr<WordModel>> ReadBpe(const Json& json, Vocabulary vocabulary) {
  BpeOptions options;
  ASSIGN_OR_RETURN(const double dropout, NumberOf(json, "dropout", 0));
  if (dropout != 0) return Unsupported("'dropout' is not supported");
  ASSIGN_OR_RETURN(options.prefix, TextOf(json, "continuing_subword_prefix", ""));
  ASSIGN_OR_RETURN(options.suffix, TextOf(json, "end_of_word_suffix", ""));
  ASSIGN_OR_RETURN(options.fuses_unknown, FlagOf(json, "fuse_unk", false));
  ASSIGN_OR_RETURN(options.keeps_words, FlagOf(json, "ignore_merges", false));
  ASSIGN_OR_RETURN(const bool falls_back, FlagOf(json, "byte_fallback", false));
  ASSIGN_OR_RETURN(const std::string unknown, TextOf(json, "unk_token", ""));
  const auto found = vocabulary.find(unknown);
  if (!unknown.empty() && found == vocabulary.end())
    return InvalidModel("'unk_token': '{}' is not in the vocabulary", unknown);
  if (!unknown.empty()) options.unknown = found->second;
  if (falls_back) options.bytes = ByteTokens(vocabulary);
  ASSIGN_OR_RETURN(auto merges, ReadMerges(json, vocabulary, options.prefix));
  return std::make_unique<Bpe>(std::move(vocabulary), std::move(merges), std::move(options));
}

}  // namespace fettle::language
