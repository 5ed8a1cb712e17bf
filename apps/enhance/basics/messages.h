// What goes to standard error: warnings, failures, progress.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace fettle::enhance {

/// Prints to standard error. Text that cannot be written there (a full disk, a closed stream) is
/// lost, and the work goes on. Thread-safe.
template <typename... Values>
void PrintMessage(fmt::format_string<Values...> format, Values&&... values) {
  const std::string text = fmt::format(format, std::forward<Values>(values)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Names may hold any bytes: line ends and other control characters are printed as escapes, so that
/// a message stays one line and does not control the terminal.
inline std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      line += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
  return line;
}

/// Standard streams that the caller closed become ones of /dev/null, lest a file that is opened
/// later takes their numbers and is written into; standard output then refuses what is written. To
/// be called first.
inline void HoldStandardStreams() {
  // The least free number is taken: in this order each gets its own.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

/// Makes writes past the limit on a file's size (RLIMIT_FSIZE) fail with EFBIG, instead of a signal
/// that ends the program without a message.
inline void OutliveFileSizeLimit() { (void)signal(SIGXFSZ, SIG_IGN); }

}  // namespace fettle::enhance
