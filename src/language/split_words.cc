#include "language/split_words.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "language/code_points.h"

namespace fettle::language {
namespace {

constexpr std::pair<std::string_view, WordRule> kRules[] = {
    {"gpt-2", WordRule::kGpt2},       {"smollm", WordRule::kDigits},
    {"starcoder", WordRule::kDigits}, {"refact", WordRule::kDigits},
    {"llama-bpe", WordRule::kLlama3}, {"llama3", WordRule::kLlama3},
    {"llama-v3", WordRule::kLlama3},  {"qwen2", WordRule::kQwen2},
};

/// Matches the alternatives of a rule, in order, at one place after the other; the regular
/// expressions are those of the models' tokenizers.
class Splitter {
 public:
  Splitter(std::span<const CodePoint> points, WordRule rule) : points_(points), rule_(rule) {}

  /// The length of the piece that begins at `at`, at least 1.
  size_t PieceAt(size_t at) const {
    const bool newer = rule_ == WordRule::kLlama3 || rule_ == WordRule::kQwen2;
    if (const size_t length = Contraction(at, newer)) return length;
    return newer ? NewerPiece(at) : OlderPiece(at);
  }

 private:
  bool Is(size_t i, CodeClass kind) const { return i < points_.size() && points_[i].kind == kind; }
  uint32_t Code(size_t i) const { return i < points_.size() ? points_[i].value : 0; }
  bool IsLineEnd(size_t i) const { return Code(i) == '\r' || Code(i) == '\n'; }

  size_t RunOf(size_t at, CodeClass kind) const {
    size_t end = at;
    while (Is(end, kind)) ++end;
    return end - at;
  }

  /// 's 't 're 've 'm 'll 'd
  size_t Contraction(size_t at, bool any_case) const {
    if (Code(at) != '\'') return 0;
    const auto letter = [&](size_t i) {
      const uint32_t code = Code(at + i);
      if (any_case && code == 0x17f) return uint32_t{'s'};  // the long s folds to s
      return any_case && code >= 'A' && code <= 'Z' ? code + 32 : code;
    };
    const uint32_t a = letter(1), b = letter(2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    const bool two = (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l');
    return two ? 3 : 0;
  }

  /// \s+(?!\S)|\s+
  size_t Spaces(size_t at) const {
    const size_t run = RunOf(at, CodeClass::kSpace);
    return run > 1 && at + run < points_.size() ? run - 1 : run;
  }

  /// " ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+", then spaces.
  size_t OlderPiece(size_t at) const {
    const size_t space = Code(at) == ' ' ? 1 : 0;
    for (CodeClass kind : {CodeClass::kLetter, CodeClass::kNumber, CodeClass::kOther}) {
      if (const size_t run = RunOf(at + space, kind)) return space + run;
    }
    return Spaces(at);
  }

  /// [^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+, then spaces.
  size_t NewerPiece(size_t at) const {
    const bool leads = !IsLineEnd(at) && !Is(at, CodeClass::kLetter) && !Is(at, CodeClass::kNumber);
    if (const size_t run = RunOf(at + leads, CodeClass::kLetter)) return leads + run;
    if (const size_t run = RunOf(at, CodeClass::kNumber))
      return std::min<size_t>(run, rule_ == WordRule::kLlama3 ? 3 : 1);
    const size_t space = Code(at) == ' ' ? 1 : 0;
    if (const size_t run = RunOf(at + space, CodeClass::kOther)) {
      size_t end = at + space + run;
      while (IsLineEnd(end)) ++end;
      return end - at;
    }
    // The last line end of the run of spaces.
    for (size_t length = RunOf(at, CodeClass::kSpace); length > 0; --length)
      if (IsLineEnd(at + length - 1)) return length;
    return Spaces(at);
  }

  std::span<const CodePoint> points_;
  WordRule rule_;
};

}  // namespace

std::optional<WordRule> FindWordRule(std::string_view name) {
  for (const auto& [known, rule] : kRules)
    if (known == name) return rule;
  return std::nullopt;
}

std::string WordRuleNames() {
  std::string names;
  for (const auto& [name, rule] : kRules) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

std::vector<std::string_view> SplitWords(std::string_view text, WordRule rule) {
  const std::vector<CodePoint> points = CodePointsOf(text);
  std::vector<std::string_view> pieces;
  const auto begin_of = [&](size_t i) {
    return i < points.size() ? static_cast<size_t>(points[i].begin) : text.size();
  };
  const auto add = [&](size_t first, size_t last) {
    pieces.push_back(text.substr(begin_of(first), begin_of(last) - begin_of(first)));
  };
  for (size_t part = 0; part < points.size();) {
    // A number alone is cut off first: what stands before it ends there.
    size_t end = points.size();
    if (rule == WordRule::kDigits) {
      end = part;
      while (end < points.size() && points[end].kind != CodeClass::kNumber) ++end;
      if (end == part) add(part, ++end);
    }
    const bool is_number = rule == WordRule::kDigits && points[part].kind == CodeClass::kNumber;
    const std::span<const CodePoint> all = points;
    const Splitter splitter(all.subspan(part, end - part), rule);
    for (size_t at = 0; !is_number && part + at < end;) {
      const size_t length = splitter.PieceAt(at);
      add(part + at, part + at + length);
      at += length;
    }
    part = end;
  }
  return pieces;
}

}  // namespace fettle::language
