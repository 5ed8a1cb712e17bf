// Unigram: the tokens of a word whose scores have the greatest sum.
#include <algorithm>
#include <limits>

#include "language/code_points.h"
#include "language/tokens/word_models.h"

namespace fettle::language {
namespace {

class Unigram final : public WordModel {
 public:
  Unigram(std::vector<std::pair<std::string, double>> tokens, int32_t unknown, bool falls_back)
      : unknown_(unknown) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      const auto [at, is_new] = vocabulary_.emplace(tokens[i].first, id);
      if (!is_new) repeated_.emplace_back(std::exchange(at->second, id), tokens[i].first);
      scores_.push_back(tokens[i].second);
      least = std::min(least, tokens[i].second);
    }
    unknown_score_ = least - 10;  // as SentencePiece
    for (const auto& [name, id] : vocabulary_)
      if (!name.empty()) sorted_.emplace_back(name, id);
    std::ranges::sort(sorted_);
    if (falls_back) bytes_ = ByteTokens(vocabulary_);
  }

  void Encode(std::string_view word, std::vector<int32_t>& to) const override {
    std::vector<Best> best(word.size() + 1);
    for (size_t at = 0; at < word.size(); at = NextCharacter(word, at)) Extend(word, at, best);
    std::vector<size_t> begins;
    for (size_t at = word.size(); at > 0; at = best[at].begin) begins.push_back(at);
    std::ranges::reverse(begins);
    size_t begin = 0, unknown_begin = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      const size_t end = begins[i];
      const int32_t token = best[end].token;
      const bool more = i + 1 < begins.size() && best[begins[i + 1]].token == unknown_;
      if (token != unknown_ || unknown_ < 0) {
        AddPiece(word.substr(begin, end - begin), to);
        unknown_begin = end;
      } else if (!more) {  // neighbours that are unknown are one
        AddPiece(word.substr(unknown_begin, end - unknown_begin), to);
        unknown_begin = end;
      }
      begin = end;
    }
  }

 private:
  /// Of the tokens up to a byte.
  struct Best {
    double score = 0;
    size_t begin = 0;  // of the last token
    int32_t token = -1;
    bool reached = false;
  };

  static size_t NextCharacter(std::string_view text, size_t at) {
    do ++at;
    while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80);
    return at;
  }

  static void Reach(Best& end, const Best& from, double score, size_t begin, int32_t token) {
    if (end.reached && from.score + score <= end.score) return;
    end = {from.score + score, begin, token, true};
  }

  /// Tokens that begin at `at`, shortest first.
  void Extend(std::string_view word, size_t at, std::vector<Best>& best) const {
    const size_t next = NextCharacter(word, at);
    bool has_one = false;  // a token of one character
    size_t low = 0, high = sorted_.size();
    for (size_t end = at; end < word.size() && low < high; ++end) {
      // Of tokens that agree so far, those that go on with this byte.
      const size_t depth = end - at;
      const auto byte = [&](size_t i) {
        const std::string_view name = sorted_[i].first;
        return depth < name.size() ? static_cast<uint8_t>(name[depth]) : -1;
      };
      const int wanted = static_cast<uint8_t>(word[end]);
      const auto bound = [&](size_t from, int value) {
        size_t to = high;
        while (from < to) {
          const size_t middle = (from + to) / 2;
          if (byte(middle) < value) {
            from = middle + 1;
          } else {
            to = middle;
          }
        }
        return from;
      };
      low = bound(low, wanted);
      high = bound(low, wanted + 1);
      if (low >= high || sorted_[low].first.size() != depth + 1) continue;
      const int32_t token = sorted_[low].second;
      Reach(best[end + 1], best[at], scores_[token], at, token);
      has_one |= end + 1 == next;
    }
    if (!has_one) Reach(best[next], best[at], unknown_score_, at, unknown_);
  }

  void AddPiece(std::string_view piece, std::vector<int32_t>& to) const {
    const auto found = vocabulary_.find(std::string(piece));
    if (found != vocabulary_.end()) return to.push_back(found->second);
    if (bytes_.Encode(piece, to)) return;
    if (unknown_ >= 0) to.push_back(unknown_);
  }

  int32_t unknown_;
  double unknown_score_ = 0;
  std::vector<double> scores_;
  std::vector<std::pair<std::string, int32_t>> sorted_;
  ByteTokens bytes_;
};

}  // namespace

Result<std::unique_ptr<WordModel>> ReadUnigram(const Json& json) {
  ASSIGN_OR_RETURN(const Json* vocab, Need(json, "vocab"));
  if (!vocab->is_array() || vocab->empty() || vocab->size() > kMostTokenNumbers)
    return InvalidModel("'vocab': expected a list of tokens with scores");
  std::vector<std::pair<std::string, double>> tokens;
  for (const Json& row : *vocab) {
    if (!row.is_array() || row.size() != 2 || !row[0].is_string() || !row[1].is_number())
      return InvalidModel("'vocab': expected a list of tokens with scores");
    tokens.emplace_back(row[0].get<std::string>(), row[1].get<double>());
  }
  ASSIGN_OR_RETURN(const int64_t unknown, IntOf(json, "unk_id", -1));
  if (unknown < -1 || unknown >= std::ssize(tokens))
    return InvalidModel("'unk_id': {} is not in the vocabulary", unknown);
  ASSIGN_OR_RETURN(const bool falls_back, FlagOf(json, "byte_fallback", false));
  return std::make_unique<Unigram>(std::move(tokens), static_cast<int32_t>(unknown), falls_back);
}

}  // namespace fettle::language
