// Reading one line of the text form of problems and solutions (print.cc).
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fettle::solver {

/// Failures are kInvalidArgument and start with the line number.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) { SkipBlanks(); }

  bool AtEnd() const { return text_.empty() || text_.front() == '#'; }

  template <typename... Args>
  Status Fail(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument(format, std::forward<Args>(args)...)
        .WithContext(fmt::format("line {}", number_));
  }

  /// Up to the next blank; empty at the end.
  std::string_view Word() {
    if (AtEnd()) return "";
    const std::string_view word = text_.substr(0, text_.find_first_of(" \t"));
    Skip(word.size());
    return word;
  }

  /// Takes `word` if it is next.
  bool Take(std::string_view word) {
    const std::string_view rest = text_;
    if (Word() == word) return true;
    text_ = rest;
    return false;
  }

  template <typename T>
  Result<T> Number() {
    const std::string_view word = Word();
    T value{};
    const char* end = word.data() + word.size();
    const auto [at, code] = std::from_chars(word.data(), end, value);
    if (word.empty() || code != std::errc() || at != end) {
      return Fail("expected a number, got '{}'", word);
    }
    return value;
  }

  /// A finite amount that is not negative.
  Result<double> Amount();

  /// As many indices as follow.
  Result<std::vector<int>> Indices();

  /// In double quotes.
  Result<std::string> Name();

  /// Fails where anything is left.
  Status End() const { return AtEnd() ? OkStatus() : Fail("unexpected '{}'", text_); }

 private:
  void SkipBlanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t"), text_.size())); }
  void Skip(size_t count) {
    text_.remove_prefix(count);
    SkipBlanks();
  }

  std::string_view text_;
  int number_;
};

}  // namespace fettle::solver
