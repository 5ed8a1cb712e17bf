#include "device/opencl/program/source_words.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace fettle {
namespace {

bool IsInWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class NameReader {
 public:
  SourceNames Read(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      if (text[i] == '\n' || i == 0) {
        const size_t next = SkipSpaces(text, i);
        if (next < text.size() && text[next] == '#') {
          i = Directive(text, next);
          continue;
        }
        i = std::max(next, i + (text[i] == '\n' ? 1 : 0));
        if (i >= text.size()) break;
      }
      if (IsWordStart(text[i])) {
        const std::string_view word = WordAt(text, i);
        Word(word);
        i += word.size();
      } else {
        Sign(text[i++]);
      }
    }
    for (const std::string& macro : names_.macros) names_.declared.erase(macro);
    return std::move(names_);
  }

 private:
  /// Behind the directive at `at`.
  size_t Directive(std::string_view text, size_t at) {
    const size_t verb = SkipSpaces(text, at + 1);
    if (WordAt(text, verb) == "define") {
      const size_t name = SkipSpaces(text, verb + WordAt(text, verb).size());
      names_.macros.emplace(WordAt(text, name));
    }
    while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
    return at;
  }

  void Word(std::string_view word) {
    if (braces_ > 0) return;
    if (brackets_ == 0) {
      statement_.emplace_back(word);
    } else if (is_macro_ && std::isupper(static_cast<unsigned char>(word[0])) != 0) {
      names_.declared.emplace(word);  // DEFINE_SOMETHING(Name, ..)
    }
  }

  void Sign(char sign) {
    switch (sign) {
      case '{': ++braces_; break;
      case '}':
        if (--braces_ == 0 && !IsType()) statement_.clear();
        break;
      case '(':
      case '[':
        if (braces_ == 0 && brackets_ == 0) Opened(sign);
        ++brackets_;
        break;
      case ')':
      case ']':
        if (--brackets_ == 0 && braces_ == 0 && is_macro_) {
          statement_.clear();
          is_macro_ = false;
        }
        break;
      case '=':
        if (braces_ == 0 && brackets_ == 0 && statement_.size() > 1) Declare(statement_.back());
        break;
      case ';':
        if (braces_ > 0 || brackets_ > 0) break;
        if (IsType()) Declare(statement_.back());
        statement_.clear();
        break;
      default: break;
    }
  }

  void Opened(char sign) {
    if (statement_.empty() || statement_.back() == "__attribute__") return;
    if (statement_.size() > 1) {
      if (!IsType()) Declare(statement_.back());
    } else {
      is_macro_ = sign == '(';
    }
  }

  bool IsType() const { return !statement_.empty() && statement_[0] == "typedef"; }
  void Declare(const std::string& name) { names_.declared.insert(name); }

  SourceNames names_;
  int braces_ = 0, brackets_ = 0;
  bool is_macro_ = false;
  std::vector<std::string> statement_;
};

}  // namespace

bool IsWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view WordAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && IsInWord(text[end])) ++end;
  return text.substr(at, end - at);
}

size_t SkipSpaces(std::string_view text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

size_t SkipBrackets(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(' || text[at] == '[') ++depth;
    if ((text[at] == ')' || text[at] == ']') && --depth == 0) return at + 1;
  }
  return text.size();
}

size_t SkipAttribute(std::string_view text, size_t at) {
  const size_t begin = SkipSpaces(text, at);
  if (WordAt(text, begin) != "__attribute__") return at;
  return SkipBrackets(text, SkipSpaces(text, begin + WordAt(text, begin).size()));
}

std::string WithoutComments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else if (text[i] == '"') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      out += text.substr(i, end + 1 - i);
      i = end + 1;
    } else {
      out += text[i++];
    }
  }
  return out;
}

SourceNames NamesIn(std::string_view text) { return NameReader().Read(text); }

}  // namespace fettle
