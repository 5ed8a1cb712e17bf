// --sort: the order of a table's lines.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace fettle::tools {

/// kOwn: what the table shows first by itself.
enum class SortOrder { kOwn, kTime, kOrder, kName };

/// --sort time|order|name.
void AddSort(CLI::App& app, SortOrder& order);

/// The indices of `count` lines in the order asked for, equal ones as they came. `ms(i)` the
/// longest first, `name(i)` by bytes.
template <typename Ms, typename Name>
std::vector<size_t> Sorted(size_t count, SortOrder order, const Ms& ms, const Name& name) {
  std::vector<size_t> indices(count);
  for (size_t i = 0; i < count; ++i) indices[i] = i;
  if (order == SortOrder::kTime)
    std::stable_sort(indices.begin(), indices.end(),
                     [&](size_t a, size_t b) { return ms(a) > ms(b); });
  if (order == SortOrder::kName)
    std::stable_sort(indices.begin(), indices.end(),
                     [&](size_t a, size_t b) { return name(a) < name(b); });
  return indices;
}

}  // namespace fettle::tools
