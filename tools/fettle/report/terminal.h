// How wide what people read may be, and whether it may move the cursor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fettle::tools {

/// Columns of standard output: COLUMNS where that is a number, else those of the terminal, else 80;
/// no limit after SetWide.
size_t OutputWidth();
/// --wide: lines are as long as what they say.
void SetWide();

/// Whether standard error is a terminal that takes escape codes: not where TERM is dumb or not set,
/// or NO_COLOR is set.
bool TakesEscapeCodes();

/// Code points of a UTF-8 text, which is what a terminal counts for the names that models use.
size_t TextWidth(std::string_view text);

/// `text` in at most `width` code points: both ends, and an ellipsis for the middle. The beginning
/// has `fifths` (0 to 5) of the width: more than half, as it says more where parts of a network
/// are numbered.
std::string Shorten(std::string_view text, size_t width, size_t fifths = 3);
/// What a table calls a step: its first node, without the folders whose names the next one repeats.
/// "/f/f.0/f.0.0/Conv+/f/f.0/f.0.2/Clip" is "f.0.0/Conv". Whole where tables are as wide as they
/// want to be.
std::string StepLabel(std::string_view nodes);

/// `text` broken at blanks (where a word is longer, anywhere) into lines of at most `width` code
/// points; those after the first begin with `indent` blanks. Lines that are there stay apart.
std::string Wrap(std::string_view text, size_t width, size_t indent = 0);
/// The same at OutputWidth().
std::string Fit(std::string_view text, size_t indent = 2);

/// "1 row", "2 rows".
std::string Count(int64_t count, std::string_view thing);

}  // namespace fettle::tools
