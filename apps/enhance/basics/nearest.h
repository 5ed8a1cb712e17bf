// What somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fettle::enhance {

/// The name with the fewest letters to change, add or leave out; names must not be empty.
std::string NearestOf(std::string_view word, const std::vector<std::string>& names);

}  // namespace fettle::enhance
