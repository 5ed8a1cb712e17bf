#include "language/tokens/word_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

namespace fettle::language {
namespace {

/// What \s and \w are to Oniguruma; PCRE2 counts other characters among them.
constexpr std::string_view kSpaceCodes =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kWordParts = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
/// And outside of brackets.
constexpr std::string_view kMoreWordParts = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

/// `expression` with \s, \S, \w, \W and \uHHHH spelled out.
std::string SpelledOut(std::string_view expression) {
  std::string out;
  int depth = 0;  // of brackets
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '[') ++depth;
    if (c == ']' && depth > 0) --depth;
    const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (c != '\\') {
      out += c;
      continue;
    }
    ++i;
    std::string set(next == 's' || next == 'S' ? kSpaceCodes : kWordParts);
    if (depth == 0 && (next == 'w' || next == 'W')) set += kMoreWordParts;
    if (next == 's' || next == 'w') {
      out += depth > 0 ? set : "[" + set + "]";
    } else if ((next == 'S' || next == 'W') && depth == 0) {
      out += "[^" + set + "]";
    } else if (next == 'u' && i + 4 < expression.size()) {
      out.append("\\x{").append(expression.substr(i + 1, 4)).append("}");
      i += 4;
    } else {
      out += c;
      if (next != '\0') out += next;
    }
  }
  return out;
}

pcre2_match_context* Limits() {
  constexpr uint32_t kMostSteps = 10'000'000;
  static pcre2_match_context* const limits = [] {
    pcre2_match_context* made = pcre2_match_context_create(nullptr);
    if (made != nullptr) pcre2_set_match_limit(made, kMostSteps);
    return made;
  }();
  return limits;
}

struct MatchData {
  pcre2_match_data* data;
  explicit MatchData(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)) {}
  ~MatchData() { pcre2_match_data_free(data); }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
};

void AddRange(std::vector<MatchedRange>& ranges, size_t begin, size_t end, bool matched) {
  if (end > begin) ranges.push_back({begin, end, matched});
}

}  // namespace

Result<std::shared_ptr<const WordPattern>> WordPattern::Create(std::string_view expression) {
  const std::string spelled = SpelledOut(expression);
  int error = 0;
  size_t at = 0;
  pcre2_code* code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR message[160] = {};
    pcre2_get_error_message(error, message, sizeof(message));
    return Unsupported("regular expression '{}': {}", expression,
                       reinterpret_cast<const char*>(message));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it matching is slower
  std::shared_ptr<WordPattern> made(new WordPattern);
  made->code_ = code;
  return made;
}

std::shared_ptr<const WordPattern> WordPattern::Literal(std::string_view text) {
  std::shared_ptr<WordPattern> made(new WordPattern);
  made->literal_ = text;
  return made;
}

WordPattern::~WordPattern() { pcre2_code_free(static_cast<pcre2_code*>(code_)); }

std::vector<MatchedRange> WordPattern::Split(std::string_view text) const {
  std::vector<MatchedRange> ranges;
  size_t done = 0;  // what ranges hold
  if (code_ == nullptr) {
    size_t at = literal_.empty() ? std::string_view::npos : text.find(literal_);
    for (; at != std::string_view::npos; at = text.find(literal_, done)) {
      AddRange(ranges, done, at, false);
      AddRange(ranges, at, done = at + literal_.size(), true);
    }
    AddRange(ranges, done, text.size(), false);
    return ranges;
  }
  const auto* code = static_cast<const pcre2_code*>(code_);
  const MatchData match(code);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (size_t from = 0; match.data != nullptr && from < text.size();) {
    int found =
        pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, match.data, Limits());
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
      found = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          match.data, Limits());
    if (found < 0) break;
    const size_t* ends = pcre2_get_ovector_pointer(match.data);
    const size_t begin = std::max(ends[0], done), end = std::max(ends[1], begin);
    AddRange(ranges, done, begin, false);
    AddRange(ranges, begin, end, true);
    done = std::max(done, end);
    from = end;
    if (ends[1] <= ends[0]) {  // nothing matched there: on behind the next character
      do ++from;
      while (from < text.size() && (static_cast<uint8_t>(text[from]) & 0xc0) == 0x80);
    }
  }
  AddRange(ranges, done, text.size(), false);
  return ranges;
}

}  // namespace fettle::language
