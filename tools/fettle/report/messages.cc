#include "report/messages.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace fettle::tools {

namespace {

/// More than this of one line nobody reads.
constexpr size_t kLongestLine = 900;

/// A byte in the middle of a code point goes with those before it.
size_t CodePointAt(std::string_view text, size_t at) {
  while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
  return at;
}

std::string Shortened(std::string_view line) {
  if (line.size() <= kLongestLine) return std::string(line);
  const size_t head = CodePointAt(line, kLongestLine * 2 / 3);
  const size_t tail = CodePointAt(line, line.size() - kLongestLine / 4);
  return fmt::format("{} … {}", line.substr(0, head), line.substr(tail));
}

}  // namespace

std::string ForTerminal(std::string_view text) {
  const bool ends_line = text.ends_with('\n');
  if (ends_line) text.remove_suffix(1);
  std::string shown, line;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '\n' && text.substr(i + 1).starts_with("  ")) {
      shown += Shortened(line) + "\n";
      line.clear();
    } else if (text[i] == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += text[i];
    }
  }
  return shown + Shortened(line) + (ends_line ? "\n" : "");
}

void HoldStandardStreams() {
  // The least free number is taken: in this order each gets its own.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

void OutliveFileSizeLimit() {
  // A handler ends where another program is started; a signal that is ignored stays so.
  struct sigaction nothing = {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  (void)sigaction(SIGXFSZ, &nothing, nullptr);
}

}  // namespace fettle::tools
