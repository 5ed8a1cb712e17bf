// Takes texts apart from the front.
#pragma once

#include <algorithm>
#include <string_view>

namespace fettle {

/// Returns the text before `end`, and removes it and `end`.
inline std::string_view TakeUntil(char end, std::string_view& text) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}
inline std::string_view TakeWord(std::string_view& line) { return TakeUntil(' ', line); }
inline std::string_view TakeLine(std::string_view& text) { return TakeUntil('\n', text); }

}  // namespace fettle
