#include "report/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

namespace fettle::tools {
namespace {

constexpr size_t kDefaultWidth = 80;
/// Narrower than this, tables have no room for anything.
constexpr size_t kLeastWidth = 40;

bool wide = false;

/// COLUMNS, or 0.
size_t ColumnsVariable() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  const std::string_view view = text;
  size_t columns = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), columns);
  return error == std::errc() && end == view.data() + view.size() ? columns : 0;
}

bool IsSet(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

/// The byte at which code point `at` of `text` begins.
size_t ByteOf(std::string_view text, size_t at) {
  size_t i = 0;
  for (; i < text.size(); ++i)
    if ((text[i] & 0xC0) != 0x80 && at-- == 0) break;
  return i;
}

/// "/f/f.0/f.0.0/Conv" as "f.0.0/Conv": exporters repeat in each folder the one that it is in.
std::string WithoutRepeats(std::string_view name) {
  std::string kept;
  while (!name.empty()) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    const bool repeated = name.starts_with(part) && name.substr(part.size()).starts_with('.');
    if (part.empty() || repeated) continue;
    kept += (kept.empty() ? "" : "/") + std::string(part);
  }
  return kept;
}

}  // namespace

size_t OutputWidth() {
  if (wide) return std::numeric_limits<size_t>::max();
  size_t width = ColumnsVariable();
  winsize size = {};
  if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width == 0 ? kDefaultWidth : std::max(width, kLeastWidth);
}

void SetWide() { wide = true; }

bool TakesEscapeCodes() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && IsSet("TERM") && std::string_view(terminal) != "dumb" &&
         !IsSet("NO_COLOR");
}

size_t TextWidth(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Shorten(std::string_view text, size_t width, size_t fifths) {
  const size_t all = TextWidth(text);
  if (all <= width) return std::string(text);
  if (width == 0) return {};
  const size_t head = std::min(width * fifths / 5, width - 1), tail = width - 1 - head;
  return fmt::format("{}…{}", text.substr(0, ByteOf(text, head)),
                     text.substr(ByteOf(text, all - tail)));
}

std::string StepLabel(std::string_view nodes) {
  if (wide) return std::string(nodes);
  return WithoutRepeats(nodes.substr(0, nodes.find('+')));
}

std::string Wrap(std::string_view text, size_t width, size_t indent) {
  std::string out;
  size_t room = width, at = 0;
  bool begins_line = true;
  while (at < text.size()) {
    if (text[at] == '\n') {
      out += '\n';
      ++at;
      room = width;
      begins_line = true;
      continue;
    }
    // A word with the blanks before it.
    size_t word = text.find_first_not_of(' ', at);
    word = std::min(word, text.size());
    const size_t end = std::min(text.find_first_of(" \n", word), text.size());
    std::string_view piece = text.substr(at, end - at);
    at = end;
    if (!begins_line && TextWidth(piece) > room) {
      out += '\n' + std::string(indent, ' ');
      room = width - indent;
      piece.remove_prefix(std::min(piece.find_first_not_of(' '), piece.size()));
    }
    // A path stays whole, so that it can be copied.
    while (TextWidth(piece) > room && piece.find('/') == std::string_view::npos) {
      const size_t cut = ByteOf(piece, room);
      out += piece.substr(0, cut);
      piece.remove_prefix(cut);
      out += '\n' + std::string(indent, ' ');
      room = width - indent;
    }
    out += piece;
    room -= std::min(room, TextWidth(piece));
    begins_line = false;
  }
  return out;
}

std::string Fit(std::string_view text, size_t indent) { return Wrap(text, OutputWidth(), indent); }

std::string Count(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace fettle::tools
