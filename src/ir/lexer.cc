#include "ir/lexer.h"

#include <algorithm>
#include <charconv>

namespace fettle::ir {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-' || c == '+' || c == '#';
}

}  // namespace

void Lexer::SkipBlanks(bool lines) {
  while (!AtEnd()) {
    const char c = Peek();
    if (lines && c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
      ++at_;
    } else {
      return;
    }
  }
}

bool Lexer::Take(char c, bool lines) {
  SkipBlanks(lines);
  if (AtEnd() || Peek() != c) return false;
  ++at_;
  return true;
}

Status Lexer::Expect(char c, bool lines) {
  if (Take(c, lines)) return OkStatus();
  if (AtEnd()) return Fail("expected '{}', got the end of the text", c);
  return Fail("expected '{}', got '{}'", c, Peek() == '\n' ? ' ' : Peek());
}

Status Lexer::ExpectLineEnd() {
  SkipBlanks();
  if (AtEnd()) return OkStatus();
  return Peek() == '\n' ? OkStatus() : Fail("expected the end of the line, got '{}'", Peek());
}

std::string_view Lexer::Run() {
  SkipBlanks();
  const size_t begin = at_;
  while (!AtEnd() && IsWordCharacter(Peek())) ++at_;
  return text_.substr(begin, at_ - begin);
}

Result<std::string> Lexer::Word() {
  SkipBlanks();
  if (Peek() == '\'') return Quoted('\'');
  const std::string_view word = Run();
  if (word.empty()) return Fail("expected a name");
  return std::string(word);
}

Result<std::string> Lexer::Quoted(char mark) {
  RETURN_IF_ERROR(Expect(mark));
  std::string text;
  while (!AtEnd() && Peek() != '\n') {
    const char c = text_[at_++];
    if (c == mark) return text;
    if (c != '\\') {
      text += c;
      continue;
    }
    ASSIGN_OR_RETURN(const char escaped, Escape());
    text += escaped;
  }
  return Fail("a quoted text has no end");
}

Result<char> Lexer::Escape() {
  if (AtEnd()) return Fail("a quoted text has no end");
  const char c = text_[at_++];
  if (c != 'x') return c;
  unsigned value = 0;
  const std::string_view digits = text_.substr(at_, 2);
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (error != std::errc() || digits.size() != 2 || stop != end) {
    return Fail("expected two hexadecimal digits after '\\x'");
  }
  at_ += 2;
  return static_cast<char>(value);
}

Status Lexer::At(const Status& status) const {
  const auto lines = std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
  return status.WithContext(fmt::format("line {}", lines + 1));
}

}  // namespace fettle::ir
