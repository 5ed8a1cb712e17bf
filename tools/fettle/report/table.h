// Plain text tables for people.
#pragma once

#include <string>
#include <vector>

namespace fettle::tools {

/// Columns padded to their widest cell, numbers to the right. Not synchronised.
class Table {
 public:
  enum class Align { kLeft, kRight };
  /// What happens to a column on the left where the table is wider than the terminal: its cells
  /// lose their middle, or are broken into lines.
  enum class Narrow { kShorten, kWrap };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    Narrow narrow = Narrow::kShorten;
    /// Of the columns over 0 the lowest is left out first, where shortening alone would leave too
    /// little of the others; a line below the table says so.
    int leaves = 0;
    /// Of a column on the left: narrower than this, its cells say nothing any more.
    size_t least = 12;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row; missing cells are empty.
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Header, rows, each line ended; two blanks between columns. No line is wider than OutputWidth()
  /// unless the columns that cannot be narrowed are.
  std::string ToString() const;

 private:
  std::vector<size_t> WidestCells() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1.5 MB", "340 kB", "12 B".
std::string HumanBytes(double bytes);
/// "300.8 M", "2.3 G".
std::string HumanCount(double count);

}  // namespace fettle::tools
