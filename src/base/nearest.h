// Lists existing names, the nearest first, for messages about an unknown one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fettle {

/// The number of insertions, deletions, replacements and swaps of neighbours that make one word of
/// the other.
size_t EditDistance(std::string_view a, std::string_view b);

/// `names`, those most like `word` first; equally far ones keep their order.
std::vector<std::string> NearestFirst(std::string_view word, std::vector<std::string> names);

/// "'a', 'b' and 7 more" of NearestFirst; "none" where there are none.
std::string NearestNames(std::string_view word, std::vector<std::string> names, size_t most = 8);

}  // namespace fettle
