// Tokens of the text form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::ir {

/// A cursor over text that outlives it. Failures are kInvalidArgument and start with the line
/// number.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// Skips blanks of one line; with `lines`, line ends and comments from '#' to the end of the
  /// line.
  void SkipBlanks(bool lines = false);
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  /// Skips blanks, then takes `c` if it is next.
  bool Take(char c, bool lines = false);
  Status Expect(char c, bool lines = false);
  /// Skips blanks, then the end of the line or of the text.
  Status ExpectLineEnd();

  /// A maximal run of word characters (letters, digits, and any of "_./-+#"); may be empty.
  std::string_view Run();
  /// A word, or one in single quotes.
  Result<std::string> Word();
  /// Text between `mark`s with its escapes resolved.
  Result<std::string> Quoted(char mark);

  size_t position() const { return at_; }
  void Rewind(size_t position) { at_ = position; }
  template <typename... Args>
  Status Fail(fmt::format_string<Args...> format, Args&&... args) const {
    return At(InvalidArgument(format, std::forward<Args>(args)...));
  }
  /// `status` with the number of the current line in front.
  Status At(const Status& status) const;

 private:
  Result<char> Escape();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace fettle::ir
