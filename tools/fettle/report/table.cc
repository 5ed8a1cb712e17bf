#include "report/table.h"

#include <fmt/core.h>

#include <algorithm>

namespace fettle::tools {
namespace {

/// Code points of a UTF-8 text, which is what a terminal counts for the names that models use.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Scaled(double value, double base, const char* const* units, int count) {
  int unit = 0;
  while (value >= base && unit + 1 < count) {
    value /= base;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}{}", value, units[0])
                   : fmt::format("{:.1f}{}", value, units[unit]);
}

}  // namespace

void Table::Row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = Width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, Width(row[i]));
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](auto&& cell) {
    std::string out;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& content = cell(i);
      const std::string padding(widths[i] - Width(content), ' ');
      if (i > 0) out += "  ";
      out += columns_[i].align == Align::kRight ? padding + content : content + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  };
  line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    line([&](size_t i) -> const std::string& { return row[i]; });
  }
  return text;
}

std::string HumanBytes(double bytes) {
  static const char* const kUnits[] = {" B", " kB", " MB", " GB", " TB"};
  return Scaled(bytes, 1000, kUnits, 5);
}

std::string HumanCount(double count) {
  static const char* const kUnits[] = {"", " k", " M", " G", " T"};
  return Scaled(count, 1000, kUnits, 5);
}

}  // namespace fettle::tools
