#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "report/terminal.h"

namespace fettle::tools {
namespace {

constexpr size_t kGap = 2;

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

std::vector<size_t> Table::WidestCells() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = TextWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, TextWidth(row[i]));
    widths.push_back(width);
  }
  return widths;
}

namespace {

/// The columns that are shown and how wide, in a table of at most `room` code points.
struct Fitting {
  std::vector<size_t> shown, widths;  // widths by index into `shown`
  std::vector<std::string> left_out;
};

size_t Total(const std::vector<size_t>& shown, const std::vector<size_t>& widths) {
  size_t total = shown.empty() ? 0 : kGap * (shown.size() - 1);
  for (size_t column : shown) total += widths[column];
  return total;
}

/// The widths that names come to where nothing is left of what could be narrowed.
std::vector<size_t> LeastWidths(const std::vector<Table::Column>& columns,
                                std::vector<size_t> widths) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t least = std::max(columns[i].least, TextWidth(columns[i].title));
    if (columns[i].align == Table::Align::kLeft) widths[i] = std::min(widths[i], least);
  }
  return widths;
}

Fitting FitColumns(const std::vector<Table::Column>& columns, const std::vector<size_t>& widest,
                   size_t room) {
  Fitting fit;
  for (size_t i = 0; i < columns.size(); ++i) fit.shown.push_back(i);
  const std::vector<size_t> least = LeastWidths(columns, widest);
  std::vector<size_t> left_out;
  while (Total(fit.shown, least) > room) {
    auto first = fit.shown.end();
    for (auto it = fit.shown.begin(); it != fit.shown.end(); ++it)
      if (columns[*it].leaves > 0 &&
          (first == fit.shown.end() || columns[*it].leaves < columns[*first].leaves))
        first = it;
    if (first == fit.shown.end()) break;
    left_out.push_back(*first);
    fit.shown.erase(first);
  }
  // The last one to go was wider than it had to be, perhaps.
  for (auto it = left_out.rbegin(); it != left_out.rend(); ++it) {
    std::vector<size_t> more = fit.shown;
    more.insert(std::upper_bound(more.begin(), more.end(), *it), *it);
    if (Total(more, least) <= room)
      fit.shown = std::move(more);
    else
      fit.left_out.insert(fit.left_out.begin(), columns[*it].title);
  }
  std::vector<size_t> widths = widest;
  // The widest gives way first, so that short names stay whole.
  for (size_t over = Total(fit.shown, widths); over > room; --over) {
    size_t widest_column = columns.size();
    for (size_t column : fit.shown)
      if (widths[column] > least[column] &&
          (widest_column == columns.size() || widths[column] >= widths[widest_column]))
        widest_column = column;
    if (widest_column == columns.size()) break;
    --widths[widest_column];
  }
  for (size_t column : fit.shown) fit.widths.push_back(widths[column]);
  return fit;
}

/// How the cells of a column are shortened, so that different ones stay different: the cut lies
/// where that holds for most of them.
class Shortener {
 public:
  Shortener(const std::vector<std::vector<std::string>>& rows, size_t column, size_t width)
      : width_(std::max(width, size_t{1})) {
    std::unordered_set<std::string> names;
    for (const auto& row : rows) names.insert(row[column]);
    for (const size_t fifths : {3, 2, 4, 1, 0}) {
      std::unordered_map<std::string, int> counts;
      for (const std::string& name : names) ++counts[Shorten(name, width_, fifths)];
      if (counts.size() <= counts_.size()) continue;
      counts_ = std::move(counts);
      fifths_ = fifths;
    }
  }
  std::string Short(const std::string& name) const { return Shorten(name, width_, fifths_); }
  /// Whether another name is shortened to the same.
  bool IsShared(const std::string& name) const {
    const auto it = counts_.find(Short(name));
    return it != counts_.end() && it->second > 1;
  }

 private:
  size_t width_ = 1, fifths_ = 3;
  std::unordered_map<std::string, int> counts_;
};

/// The lines of a cell: one, unless it is to wrap, or its name would look like another's.
std::vector<std::string> CellLines(const Table::Column& column, const Shortener& shortener,
                                   const std::string& text, size_t width) {
  const bool wraps = column.narrow == Table::Narrow::kWrap || shortener.IsShared(text);
  if (!wraps || TextWidth(text) <= width) return {shortener.Short(text)};
  std::vector<std::string> lines(1);
  for (char c : Wrap(text, width)) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return lines;
}

}  // namespace

std::string Table::ToString() const {
  const Fitting fit = FitColumns(columns_, WidestCells(), OutputWidth());
  std::vector<Shortener> shorteners;
  for (size_t i = 0; i < fit.shown.size(); ++i)
    shorteners.emplace_back(rows_, fit.shown[i], fit.widths[i]);
  std::string text;
  const auto add = [&](auto&& cell) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t i = 0; i < fit.shown.size(); ++i) {
      const size_t column = fit.shown[i];
      cells.push_back(CellLines(columns_[column], shorteners[i], cell(column), fit.widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (size_t line = 0; line < height; ++line) {
      std::string out;
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string content = line < cells[i].size() ? cells[i][line] : "";
        const std::string padding(fit.widths[i] - std::min(fit.widths[i], TextWidth(content)), ' ');
        if (i > 0) out += std::string(kGap, ' ');
        out +=
            columns_[fit.shown[i]].align == Align::kRight ? padding + content : content + padding;
      }
      out.erase(out.find_last_not_of(' ') + 1);
      text += out + "\n";
    }
  };
  add([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) add([&](size_t i) -> const std::string& { return row[i]; });
  if (fit.left_out.empty()) return text;
  return text + Fit(fmt::format("left out for lack of space: {} (--wide shows all)\n",
                                fmt::join(fit.left_out, ", ")));
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
