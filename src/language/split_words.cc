#include "language/split_words.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "language/code_points.h"

namespace fettle::language {
namespace {

/// Matches the alternatives of a rule, in order, at one place after the other; the regular
/// expressions are those of the models' tokenizers.
class Splitter {
 public:
  Splitter(std::span<const CodePoint> points, WordRule rule) : points_(points), rule_(rule) {}

  /// The length of the piece that begins at `at`, at least 1.
  size_t PieceAt(size_t at) const {
    if (SplitsCases()) return NewerPiece(at);
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

  bool SplitsCases() const { return rule_ == WordRule::kTekken || rule_ == WordRule::kGpt4o; }

  /// Letters but a-z, or but A-Z: of other scripts a letter is both, as in llama.cpp.
  bool IsUpper(size_t i) const {
    return Is(i, CodeClass::kLetter) && (Code(i) < 'a' || Code(i) > 'z');
  }
  bool IsLower(size_t i) const {
    return Is(i, CodeClass::kLetter) && (Code(i) < 'A' || Code(i) > 'Z');
  }

  /// Upper*lower+|upper+lower*
  size_t CasedLetters(size_t at) const {
    size_t upper = at;
    while (IsUpper(upper)) ++upper;
    size_t end = upper;
    // As many of the upper ones as leave a lower one.
    while (end > at && !IsLower(end)) --end;
    if (!IsLower(end)) return upper - at;
    while (IsLower(end)) ++end;
    return end - at;
  }

  /// A run of letters, with what belongs to it behind.
  size_t Letters(size_t at) const {
    if (!SplitsCases()) return RunOf(at, CodeClass::kLetter);
    const size_t run = CasedLetters(at);
    if (run == 0 || rule_ == WordRule::kTekken) return run;
    return run + Contraction(at + run, true);
  }

  size_t MostDigits() const {
    return rule_ == WordRule::kQwen2 || rule_ == WordRule::kTekken ? 1 : 3;
  }

  /// [^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+, then spaces.
  /// Where cases are split, [\r\n/]* in the place of [\r\n]*.
  size_t NewerPiece(size_t at) const {
    const bool leads = !IsLineEnd(at) && !Is(at, CodeClass::kLetter) && !Is(at, CodeClass::kNumber);
    if (const size_t run = Letters(at + leads)) return leads + run;
    if (const size_t run = RunOf(at, CodeClass::kNumber)) return std::min(run, MostDigits());
    const size_t space = Code(at) == ' ' ? 1 : 0;
    if (const size_t run = RunOf(at + space, CodeClass::kOther)) {
      size_t end = at + space + run;
      while (IsLineEnd(end) || (SplitsCases() && Code(end) == '/')) ++end;
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

namespace {

/// One that is no UTF-8.
bool IsByte(std::string_view piece) {
  return piece.size() == 1 && static_cast<uint8_t>(piece[0]) >= 0x80;
}

/// Runs of UTF-8, as patterns take them, and bytes that are none.
std::vector<std::string_view> TextsAndBytes(std::string_view text) {
  std::vector<std::string_view> pieces;
  const std::vector<CodePoint> points = CodePointsOf(text);
  bool joins = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t begin = points[i].begin;
    const size_t end = i + 1 < points.size() ? points[i + 1].begin : text.size();
    const std::string_view one = text.substr(begin, end - begin);
    if (joins && !IsByte(one)) {
      pieces.back() = {pieces.back().data(), pieces.back().size() + one.size()};
    } else {
      pieces.push_back(one);
    }
    joins = !IsByte(one);
  }
  return pieces;
}

}  // namespace

Result<WordSplitter> WordSplitter::Create(const WordForm& form) {
  WordSplitter made;
  made.rule_ = form.rule;
  for (std::string_view expression : form.expressions) {
    ASSIGN_OR_RETURN(made.patterns_.emplace_back(), WordPattern::Create(expression));
  }
  return made;
}

std::vector<std::string_view> WordSplitter::Split(std::string_view text) const {
  if (rule_ != WordRule::kExpressions) return SplitWords(text, rule_);
  std::vector<std::string_view> pieces = TextsAndBytes(text);
  for (const auto& pattern : patterns_) {
    std::vector<std::string_view> cut;
    for (std::string_view piece : pieces) {
      if (IsByte(piece)) {
        cut.push_back(piece);
        continue;
      }
      for (const MatchedRange& range : pattern->Split(piece))
        cut.push_back(piece.substr(range.begin, range.end - range.begin));
    }
    pieces = std::move(cut);
  }
  return pieces;
}

}  // namespace fettle::language
