#include "kernels/move/index_runs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace fettle::kernels {
namespace {

using Step = std::pair<int64_t, int64_t>;

/// The step from `a` to `b` if the two are alike.
std::optional<Step> StepBetween(const LoopNest& a, const LoopNest& b) {
  if (a.axes != b.axes) return std::nullopt;
  return Step{b.src - a.src, b.dst - a.dst};
}

/// Joins neighbours that are alike and as far apart as most are: runs along the innermost block
/// first, then runs of those, so that a ragged end does not shift the blocks behind it.
std::vector<LoopNest> JoinNeighbours(const std::vector<LoopNest>& nests) {
  std::map<Step, int64_t> counts;
  for (size_t i = 0; i + 1 < nests.size(); ++i) {
    if (const auto step = StepBetween(nests[i], nests[i + 1])) ++counts[*step];
  }
  if (counts.empty()) return nests;
  const Step step =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  std::vector<LoopNest> joined;
  for (size_t i = 0; i < nests.size();) {
    size_t end = i + 1;
    while (end < nests.size() && StepBetween(nests[end - 1], nests[end]) == step) ++end;
    LoopNest nest = nests[i];
    const auto count = static_cast<int64_t>(end - i);
    if (count > 1) nest.axes.insert(nest.axes.begin(), {count, step.first, step.second});
    joined.push_back(std::move(nest));
    i = end;
  }
  return joined;
}

}  // namespace

std::vector<LoopNest> FindLoops(const std::vector<OffsetPair>& table) {
  std::vector<LoopNest> nests;
  for (const OffsetPair& pair : table) nests.push_back({pair.src, pair.dst, {}});
  for (size_t before = nests.size() + 1; nests.size() < before;) {
    before = nests.size();
    nests = JoinNeighbours(nests);
  }
  return nests;
}

}  // namespace fettle::kernels
