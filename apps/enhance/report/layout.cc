#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace fettle::enhance {
namespace {

size_t Width() {
  const char* columns = std::getenv("COLUMNS");
  const long width = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return width > 20 ? static_cast<size_t>(width) : 80;
}

}  // namespace

std::string Broken(const std::string& text, size_t width, size_t indent) {
  std::string result;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (column > 0 && column + 1 + end - at > width) {
      result += '\n';
      result.append(indent, ' ');
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += text.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return result;
}

std::string TableOf(const Cells& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    const size_t indent = std::min(line.size(), Width() / 2);
    line += Broken(row.back(), Width() - indent, indent);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string FittedHelp(const std::string& help) {
  constexpr size_t kColumn = 30;  // where CLI11 begins descriptions
  std::istringstream lines(help);
  std::string text;
  for (std::string line; std::getline(lines, line); text += line + "\n") {
    if (line.size() <= Width()) continue;
    const size_t indent = line.starts_with("  ") ? kColumn : 0;
    line = line.substr(0, indent) + Broken(line.substr(indent), Width() - indent, indent);
  }
  return text;
}

}  // namespace fettle::enhance
