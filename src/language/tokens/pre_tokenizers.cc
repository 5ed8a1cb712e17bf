#include "language/tokens/pre_tokenizers.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "language/tokens/byte_names.h"
#include "language/tokens/characters.h"
#include "language/tokens/pattern_of.h"

namespace fettle::language {
namespace {

using WordSteps = std::vector<WordStep>;
using Ranges = std::vector<MatchedRange>;

/// What becomes of the matches of a pattern.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
constexpr std::pair<std::string_view, Behavior> kBehaviors[] = {
    {"Removed", Behavior::kRemoved},
    {"Isolated", Behavior::kIsolated},
    {"MergedWithPrevious", Behavior::kMergedWithPrevious},
    {"MergedWithNext", Behavior::kMergedWithNext},
    {"Contiguous", Behavior::kContiguous},
};

Result<Behavior> BehaviorOf(const Json& json) {
  ASSIGN_OR_RETURN(const std::string name, TextOf(json, "behavior", "Isolated"));
  for (const auto& [known, behavior] : kBehaviors)
    if (known == name) return behavior;
  return Unsupported("behavior '{}' is not supported", name);
}

/// The ranges that stay, as one for each word.
Ranges Arranged(const Ranges& ranges, Behavior behavior) {
  Ranges out;
  bool before = false;  // whether the range before was a match
  for (const MatchedRange& range : ranges) {
    bool joins = false;
    if (behavior == Behavior::kMergedWithPrevious) joins = range.matched && !before;
    if (behavior == Behavior::kMergedWithNext) joins = before && !range.matched;
    if (behavior == Behavior::kContiguous) joins = range.matched == before;
    before = range.matched;
    if (behavior == Behavior::kRemoved && range.matched) continue;
    if (joins && !out.empty()) {
      out.back().end = range.end;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

template <typename Ranger>
WordStep Cutting(Ranger ranges_of, Behavior behavior) {
  return [=](std::vector<Word>& words) {
    std::vector<Word> cut;
    for (const Word& word : words) {
      for (const MatchedRange& range : Arranged(ranges_of(word.text), behavior))
        cut.push_back({word.text.substr(range.begin, range.end - range.begin),
                       word.first && range.begin == 0});
    }
    words = std::move(cut);
  };
}

/// Each character of which is(code) holds is a match.
template <typename Is>
auto CharactersThat(Is is) {
  return [is](std::string_view text) {
    Ranges ranges;
    size_t at = 0;
    ForEachCharacter(text, [&](uint32_t code, std::string_view bytes) {
      const bool matched = is(code);
      const size_t end = at + bytes.size();
      if (!matched && !ranges.empty() && !ranges.back().matched) {
        ranges.back().end = end;
      } else {
        ranges.push_back({at, end, matched});
      }
      at = end;
    });
    return ranges;
  };
}

auto MatchesOf(std::shared_ptr<const WordPattern> pattern, bool inverted = false) {
  return [pattern = std::move(pattern), inverted](std::string_view text) {
    Ranges ranges = pattern->Split(text);
    for (MatchedRange& range : ranges) range.matched = range.matched != inverted;
    return ranges;
  };
}

Status AddSplit(const Json& json, WordSteps& steps) {
  ASSIGN_OR_RETURN(auto pattern, PatternOf(json));
  ASSIGN_OR_RETURN(const Behavior behavior, BehaviorOf(json));
  ASSIGN_OR_RETURN(const bool inverted, FlagOf(json, "invert", false));
  steps.push_back(Cutting(MatchesOf(std::move(pattern), inverted), behavior));
  return OkStatus();
}

/// 's|'t|..., words, numbers and the rest, each with the space before it.
constexpr std::string_view kGpt2 =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Status AddByteWords(const Json& json, WordSteps& steps) {
  ASSIGN_OR_RETURN(const bool adds_space, FlagOf(json, "add_prefix_space", true));
  ASSIGN_OR_RETURN(const bool cuts, FlagOf(json, "use_regex", true));
  if (adds_space)
    steps.push_back([](std::vector<Word>& words) {
      for (Word& word : words)
        if (!word.text.starts_with(' ')) word.text.insert(0, " ");
    });
  if (cuts) {
    ASSIGN_OR_RETURN(auto pattern, WordPattern::Create(kGpt2));
    steps.push_back(Cutting(MatchesOf(std::move(pattern)), Behavior::kIsolated));
  }
  steps.push_back([](std::vector<Word>& words) {
    for (Word& word : words) word.text = BytesSpelled(word.text);
  });
  return OkStatus();
}

Status AddMarkedWords(const Json& json, WordSteps& steps) {
  ASSIGN_OR_RETURN(const std::string mark, TextOf(json, "replacement", "\xe2\x96\x81"));
  ASSIGN_OR_RETURN(const bool adds, FlagOf(json, "add_prefix_space", true));
  ASSIGN_OR_RETURN(const std::string scheme,
                   TextOf(json, "prepend_scheme", adds ? "always" : "never"));
  ASSIGN_OR_RETURN(const bool cuts, FlagOf(json, "split", true));
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return Unsupported("prepend_scheme '{}' is not supported", scheme);
  steps.push_back([=](std::vector<Word>& words) {
    for (Word& word : words) {
      std::string text;
      for (char c : word.text) {
        if (c == ' ') {
          text += mark;
        } else {
          text += c;
        }
      }
      const bool prepends = scheme == "always" || (scheme == "first" && word.first);
      word.text = prepends && !text.starts_with(mark) ? mark + text : std::move(text);
    }
  });
  if (cuts)
    steps.push_back(Cutting(MatchesOf(WordPattern::Literal(mark)), Behavior::kMergedWithNext));
  return OkStatus();
}

Status AddWhitespace(const Json&, WordSteps& steps) {
  // \w+|[^\w\s]+ with the \w of Rust's regular expressions.
  constexpr std::string_view kWords =
      R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)";
  ASSIGN_OR_RETURN(auto pattern, WordPattern::Create(kWords));
  steps.push_back(Cutting(MatchesOf(std::move(pattern), true), Behavior::kRemoved));
  return OkStatus();
}

Status AddWhitespaceSplit(const Json&, WordSteps& steps) {
  steps.push_back(Cutting(CharactersThat(IsSpace), Behavior::kRemoved));
  return OkStatus();
}

Status AddBertSplit(const Json&, WordSteps& steps) {
  steps.push_back(Cutting(CharactersThat(IsSpace), Behavior::kRemoved));
  steps.push_back(Cutting(CharactersThat(IsPunctuation), Behavior::kIsolated));
  return OkStatus();
}

Status AddPunctuation(const Json& json, WordSteps& steps) {
  ASSIGN_OR_RETURN(const Behavior behavior, BehaviorOf(json));
  steps.push_back(Cutting(CharactersThat(IsPunctuation), behavior));
  return OkStatus();
}

Status AddDigits(const Json& json, WordSteps& steps) {
  ASSIGN_OR_RETURN(const bool alone, FlagOf(json, "individual_digits", false));
  steps.push_back(
      Cutting(CharactersThat(IsNumber), alone ? Behavior::kIsolated : Behavior::kContiguous));
  return OkStatus();
}

Status AddDelimiter(const Json& json, WordSteps& steps) {
  ASSIGN_OR_RETURN(const std::string delimiter, TextOf(json, "delimiter", ""));
  if (delimiter.empty()) return InvalidModel("'delimiter' is missing");
  steps.push_back(Cutting(MatchesOf(WordPattern::Literal(delimiter)), Behavior::kRemoved));
  return OkStatus();
}

Status AddFixedLength(const Json& json, WordSteps& steps) {
  ASSIGN_OR_RETURN(const int64_t length, IntOf(json, "length", 5));
  if (length < 1) return InvalidModel("'length': expected at least 1, got {}", length);
  const auto pieces = [length](std::string_view text) {
    Ranges ranges;
    size_t at = 0;
    int64_t count = 0;
    ForEachCharacter(text, [&](uint32_t, std::string_view bytes) {
      if (count++ % length == 0) ranges.push_back({at, at, true});
      ranges.back().end = at += bytes.size();
    });
    return ranges;
  };
  steps.push_back(Cutting(pieces, Behavior::kIsolated));
  return OkStatus();
}

constexpr std::pair<std::string_view, Status (*)(const Json&, WordSteps&)> kPreTokenizers[] = {
    {"BertPreTokenizer", AddBertSplit},   {"ByteLevel", AddByteWords},
    {"CharDelimiterSplit", AddDelimiter}, {"Digits", AddDigits},
    {"FixedLength", AddFixedLength},      {"Metaspace", AddMarkedWords},
    {"Punctuation", AddPunctuation},      {"Split", AddSplit},
    {"Whitespace", AddWhitespace},        {"WhitespaceSplit", AddWhitespaceSplit},
};

}  // namespace

Result<std::vector<WordStep>> ReadPreTokenizer(const Json* json) {
  WordSteps steps;
  if (json != nullptr)
    RETURN_IF_ERROR(AddPart({"pre_tokenizer", "pretokenizers"}, kPreTokenizers, *json, steps));
  return steps;
}

}  // namespace fettle::language
