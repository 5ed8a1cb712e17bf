// Merges neighbouring symbols, as byte-pair encoding and similar tokenizers do.
#pragma once

#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fettle::language {

/// The result of merging two neighbours, and its priority: highest first, the first of equals.
template <typename Symbol>
struct Merge {
  double priority = 0;
  Symbol symbol{};
};

/// One that two neighbours wait for; void once one of them has merged with another.
template <typename Symbol>
struct WaitingMerge {
  Merge<Symbol> merge;
  int left, right, left_merges, right_merges;
  bool operator<(const WaitingMerge& other) const {
    return std::tie(merge.priority, other.left) < std::tie(other.merge.priority, left);
  }
};

/// Merges neighbours of `symbols` until join(left, right), an optional Merge, has nothing for any
/// two of them. O(n log n) calls.
template <typename Symbol, typename Join>
std::vector<Symbol> MergeSymbols(std::vector<Symbol> symbols, Join join) {
  constexpr int kGone = -1;
  const int count = static_cast<int>(symbols.size());
  std::vector<int> previous(count), next(count), merges(count);
  std::priority_queue<WaitingMerge<Symbol>> queue;
  const auto add = [&](int left, int right) {
    if (left < 0 || right >= count) return;
    if (const std::optional<Merge<Symbol>> found = join(symbols[left], symbols[right]))
      queue.push({*found, left, right, merges[left], merges[right]});
  };
  for (int i = 0; i < count; ++i) {
    previous[i] = i - 1;
    next[i] = i + 1;
    add(i, i + 1);
  }
  while (!queue.empty()) {
    const WaitingMerge<Symbol> entry = queue.top();
    queue.pop();
    if (merges[entry.left] != entry.left_merges || merges[entry.right] != entry.right_merges)
      continue;
    symbols[entry.left] = entry.merge.symbol;
    ++merges[entry.left];
    merges[entry.right] = kGone;
    next[entry.left] = next[entry.right];
    if (next[entry.left] < count) previous[next[entry.left]] = entry.left;
    add(previous[entry.left], entry.left);
    add(entry.left, next[entry.left]);
  }
  std::vector<Symbol> left;
  for (int i = 0; i < count; ++i)
    if (merges[i] != kGone) left.push_back(std::move(symbols[i]));
  return left;
}

/// What two parts of one text are together.
inline std::string_view Together(std::string_view left, std::string_view right) {
  return {left.data(), left.size() + right.size()};
}

}  // namespace fettle::language
