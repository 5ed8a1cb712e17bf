#include "basics/nearest.h"

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

std::string NearestOf(std::string_view word, const std::vector<std::string>& names) {
  return *std::ranges::min_element(names, {},
                                   [&](const std::string& name) { return Distance(word, name); });
}

}  // namespace fettle::enhance
