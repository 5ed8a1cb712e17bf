// What goes to standard error: warnings, failures, progress.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace fettle::tools {

/// Prints to standard error. What cannot be written there (a full disk, a closed stream) is lost,
/// and the work goes on. Thread-safe.
template <typename... Values>
void PrintMessage(fmt::format_string<Values...> format, Values&&... values) {
  const std::string text = fmt::format(format, std::forward<Values>(values)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Standard streams that the caller closed become ones of /dev/null, lest a file that is opened
/// later takes their numbers and is written into; standard output then refuses what is written. To
/// be called first.
void HoldStandardStreams();

}  // namespace fettle::tools
