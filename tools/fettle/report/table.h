// Plain text tables for people.
#pragma once

#include <string>
#include <vector>

namespace fettle::tools {

/// Columns padded to their widest cell, numbers to the right. Not synchronised.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row; missing cells are empty.
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Header, rows, each line ended; two blanks between columns.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1.5 MB", "340 kB", "12 B".
std::string HumanBytes(double bytes);
/// "300.8 M", "2.3 G".
std::string HumanCount(double count);

}  // namespace fettle::tools
