#include "basics/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fettle::enhance {
namespace {

/// Levenshtein's distance.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string Suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string> nearest = NearestFirst(word, names);
  const size_t most = std::max<size_t>(2, word.size() / 3);
  if (nearest.empty() || Distance(word, nearest.front()) > most) return "";
  return fmt::format(", did you mean '{}'?", nearest.front());
}

std::string Alternatives(std::string_view word, const std::vector<std::string>& names) {
  const std::string meant = Suggestion(word, names);
  return fmt::format("{}: {}", meant.empty() ? "; there are" : meant + " There are",
                     fmt::join(NearestFirst(word, names), ", "));
}

std::vector<std::string> NearestFirst(std::string_view word, std::vector<std::string> names) {
  std::ranges::stable_sort(names, {},
                           [&](const std::string& name) { return Distance(word, name); });
  return names;
}

}  // namespace fettle::enhance
