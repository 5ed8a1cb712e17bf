// Text that fits a terminal: COLUMNS wide, 80 where that is not set.
#pragma once

#include <string>
#include <vector>

namespace fettle::enhance {

using Cells = std::vector<std::vector<std::string>>;

/// `text` broken at blanks into lines of `width`, those after the first begun with `indent` blanks.
std::string Broken(const std::string& text, size_t width, size_t indent);

/// Cells padded to the widest of their column; the last column is broken at blanks.
std::string TableOf(const Cells& rows);

/// CLI11's help, its descriptions broken at blanks.
std::string FittedHelp(const std::string& help);

}  // namespace fettle::enhance
