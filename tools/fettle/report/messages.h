// What goes to standard error: warnings, failures, progress.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace fettle::tools {

/// `text` for a terminal: control characters as \xNN, lines that are no part of it (they go on with
/// two blanks) as \n, long lines without their middle. The newline that it ends with stays.
std::string ForTerminal(std::string_view text);

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

/// Lets writes past the limit on a file's size (RLIMIT_FSIZE) fail with EFBIG, where the signal of
/// that would end the program without a word. Programs that are started keep the signal's default.
void OutliveFileSizeLimit();

}  // namespace fettle::tools
