// The merging of neighbours that both kinds of tokenizers do.
#pragma once

#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace fettle::language {

/// Merges neighbours of `symbols` (parts of one text, in order), always those of the highest
/// priority(left, right), the first of equals, until no pair has one. O(n log n).
template <typename Priority>
std::vector<std::string_view> MergeSymbols(std::vector<std::string_view> symbols,
                                           Priority priority) {
  struct Entry {
    double priority;
    int left, right;
    size_t size;
    bool operator<(const Entry& other) const {
      return std::tie(priority, other.left) < std::tie(other.priority, left);
    }
  };
  const int count = static_cast<int>(symbols.size());
  std::vector<int> previous(count), next(count);
  std::priority_queue<Entry> queue;
  const auto add = [&](int left, int right) {
    if (left < 0 || right >= count) return;
    const std::optional<double> found = priority(symbols[left], symbols[right]);
    if (found) queue.push({*found, left, right, symbols[left].size() + symbols[right].size()});
  };
  for (int i = 0; i < count; ++i) {
    previous[i] = i - 1;
    next[i] = i + 1;
    add(i, i + 1);
  }
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    std::string_view &left = symbols[entry.left], &right = symbols[entry.right];
    // What has merged with others since is empty or longer.
    if (left.empty() || right.empty() || left.size() + right.size() != entry.size) continue;
    left = {left.data(), entry.size};
    right = {};
    next[entry.left] = next[entry.right];
    if (next[entry.left] < count) previous[next[entry.left]] = entry.left;
    add(previous[entry.left], entry.left);
    add(entry.left, next[entry.left]);
  }
  std::erase_if(symbols, [](std::string_view symbol) { return symbol.empty(); });
  return symbols;
}

}  // namespace fettle::language
