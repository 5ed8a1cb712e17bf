#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fettle {

// Damerau, 1964; the restricted form.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> NearestFirst(std::string_view word, std::vector<std::string> names) {
  // What is far longer than any name is like none of them.
  constexpr size_t kLongest = 200;
  word = word.substr(0, kLongest);
  std::vector<std::pair<size_t, std::string>> by_distance;
  for (std::string& name : names) {
    const bool begins = !word.empty() && name.starts_with(word);
    const size_t distance = begins ? 0 : EditDistance(word, name.substr(0, kLongest));
    // One that shares nothing with the word is no nearer than another.
    by_distance.emplace_back(std::min(distance, std::max<size_t>(2, word.size() / 2) + 1),
                             std::move(name));
  }
  std::ranges::stable_sort(by_distance, {}, [](const auto& row) { return row.first; });
  names.clear();
  for (auto& row : by_distance) names.push_back(std::move(row.second));
  return names;
}

std::string NearestNames(std::string_view word, std::vector<std::string> names, size_t most) {
  names = NearestFirst(word, std::move(names));
  if (names.empty()) return "none";
  const size_t shown = std::min(most, names.size());
  std::string text = fmt::format(
      "'{}'", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), "', '"));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace fettle
