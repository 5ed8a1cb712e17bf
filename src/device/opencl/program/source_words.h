// The words of a program's text: where they are, and what they declare.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace fettle {

bool IsWordStart(char c);
/// The word that begins at `at`; empty where none does.
std::string_view WordAt(std::string_view text, size_t at);
size_t SkipSpaces(std::string_view text, size_t at);
/// Behind what closes the bracket at `at`.
size_t SkipBrackets(std::string_view text, size_t at);
/// Behind "__attribute__((..))", where one stands.
size_t SkipAttribute(std::string_view text, size_t at);

std::string WithoutComments(std::string_view text);

/// What a text without comments declares: macros; and outside of functions the names of functions,
/// types and constants.
struct SourceNames {
  std::set<std::string, std::less<>> macros, declared;
};
SourceNames NamesIn(std::string_view text);

}  // namespace fettle
