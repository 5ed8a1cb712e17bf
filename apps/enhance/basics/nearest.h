// Suggests the names that somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fettle::enhance {

/// ", did you mean 'X'?" with the name that needs the fewest letters changed, added or left out; ""
/// where these are too many.
std::string Suggestion(std::string_view word, const std::vector<std::string>& names);

/// What follows an unknown word: "; there are: ..." or ", did you mean 'X'? There are: ...", all of
/// `names`, the nearest first.
std::string Alternatives(std::string_view word, const std::vector<std::string>& names);

/// `names`, those with the fewest letters to change first; equally near ones keep their order.
std::vector<std::string> NearestFirst(std::string_view word, std::vector<std::string> names);

}  // namespace fettle::enhance
