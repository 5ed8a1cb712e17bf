#include "solver/problem/brute.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "solver/problem/evaluate.h"

namespace fettle::solver {
namespace {

/// Partial solutions looked at before it is called too large.
constexpr int64_t kMostSteps = 20'000'000;

class BruteForce {
  using Way = std::vector<int>;                                  // conversions of one tensor
  using Key = std::tuple<size_t, std::set<int>, std::set<int>>;  // tensor, states there, needed

 public:
  explicit BruteForce(const Problem& problem) : problem_(problem), covered_(problem.nodes, false) {}

  Result<Solution> Run() {
    Cover(0);
    return Finish();
  }

  Result<Solution> Run(const std::vector<Pick>& picks) {
    for (const Pick& pick : picks) Take(pick);
    Serve();
    return Finish();
  }

 private:
  Result<Solution> Finish() {
    if (steps_ > kMostSteps) return Unsupported("too large for brute force");
    if (!found_) return Unsupported("no cover keeps the limits");
    best_.bound = best_.cost;
    return best_;
  }

  void Take(const Pick& pick) {
    const Group& group = problem_.groups[pick.group];
    const Choice& choice = group.choices[pick.choice];
    now_.picks.push_back(pick);
    now_.cost += choice.cost;
    now_.error += choice.error;
  }

  void Cover(int node) {
    if (++steps_ > kMostSteps || IsBeaten()) return;
    while (node < problem_.nodes && covered_[node]) ++node;
    if (node == problem_.nodes) return Serve();
    for (size_t g = 0; g < problem_.groups.size(); ++g) {
      const std::vector<int>& nodes = problem_.groups[g].nodes;
      const auto is_covered = [&](int n) { return covered_[n]; };
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end() ||
          std::any_of(nodes.begin(), nodes.end(), is_covered)) {
        continue;
      }
      for (const int n : nodes) covered_[n] = true;
      for (size_t c = 0; c < problem_.groups[g].choices.size(); ++c) {
        const Solution before = now_;
        Take({static_cast<int>(g), static_cast<int>(c)});
        Cover(node + 1);
        now_ = before;
      }
      for (const int n : nodes) covered_[n] = false;
    }
  }

  /// All picks are made: what copies do they need and write?
  void Serve() {
    needed_.clear();
    there_.clear();
    for (const Tensor& tensor : problem_.tensors) {
      needed_.emplace_back(tensor.wanted.begin(), tensor.wanted.end());
      there_.emplace_back(tensor.given.begin(), tensor.given.end());
    }
    for (const Pick& pick : now_.picks) {
      const Group& group = problem_.groups[pick.group];
      const Choice& choice = group.choices[pick.choice];
      for (size_t i = 0; i < group.inputs.size(); ++i) {
        needed_[group.inputs[i]].insert(choice.inputs[i]);
      }
      for (size_t i = 0; i < group.outputs.size(); ++i) {
        there_[group.outputs[i]].insert(choice.outputs[i]);
      }
    }
    Convert(0);
  }

  /// Tries every set of conversions of `tensor` and the tensors after it.
  void Convert(size_t tensor) {
    if (++steps_ > kMostSteps || IsBeaten()) return;
    if (tensor == problem_.tensors.size()) return Compare();
    Key key{tensor, there_[tensor], needed_[tensor]};
    auto ways = ways_.find(key);
    if (ways == ways_.end()) {
      std::vector<Way> found;
      FindWays(problem_.tensors[tensor], there_[tensor], needed_[tensor], {}, found);
      ways = ways_.emplace(std::move(key), std::move(found)).first;
    }
    for (const Way& way : ways->second) {
      const Solution before = now_;
      for (const int c : way) {
        const Conversion& conversion = problem_.tensors[tensor].conversions[c];
        now_.conversions.push_back({static_cast<int>(tensor), c});
        now_.cost += conversion.cost;
        now_.error += conversion.error;
      }
      Convert(tensor + 1);
      now_ = before;
    }
  }

  /// Adds to `found` every way to make what is needed in which no copy is made for nothing, by
  /// taking away from `needed` one state after the other and asking for its source instead.
  void FindWays(const Tensor& tensor, const std::set<int>& there, std::set<int> needed, Way way,
                std::vector<Way>& found) {
    if (++steps_ > kMostSteps) return;
    std::erase_if(needed, [&](int state) { return there.count(state) > 0; });
    if (needed.empty()) {
      if (PutInOrder(tensor, there, way)) found.push_back(std::move(way));
      return;
    }
    const int state = *needed.begin();
    needed.erase(needed.begin());
    for (size_t c = 0; c < tensor.conversions.size(); ++c) {
      const Conversion& conversion = tensor.conversions[c];
      if (conversion.to != state) continue;
      const bool is_made = std::any_of(way.begin(), way.end(), [&](int other) {
        return tensor.conversions[other].to == conversion.from;
      });
      std::set<int> next = needed;
      if (!is_made) next.insert(conversion.from);
      Way longer = way;
      longer.push_back(static_cast<int>(c));
      FindWays(tensor, there, std::move(next), std::move(longer), found);
    }
  }

  /// False where conversions wait for each other.
  static bool PutInOrder(const Tensor& tensor, std::set<int> there, Way& way) {
    Way ordered;
    for (bool grown = true; grown;) {
      grown = false;
      for (const int c : way) {
        const Conversion& conversion = tensor.conversions[c];
        if (there.count(conversion.from) == 0 || !there.insert(conversion.to).second) continue;
        ordered.push_back(c);
        grown = true;
      }
    }
    const bool is_complete = ordered.size() == way.size();
    way = std::move(ordered);
    return is_complete;
  }

  bool IsBeaten() const {
    return now_.cost >= best_.cost ||
           (problem_.error_budget >= 0 && now_.error > problem_.error_budget * (1 + kErrorSlack));
  }

  void Compare() {
    if (!CheckLimits(problem_, now_).ok() || !PicksOnCycle(problem_, now_.picks).empty()) return;
    found_ = true;
    best_ = now_;
  }

  const Problem& problem_;
  std::vector<bool> covered_;
  std::vector<std::set<int>> needed_, there_;  // by tensor
  std::map<Key, std::vector<Way>> ways_;
  Solution now_;
  Solution best_{{}, {}, std::numeric_limits<Cost>::infinity(), 0, 0};
  bool found_ = false;
  int64_t steps_ = 0;
};

}  // namespace

Result<Solution> SolveByBruteForce(const Problem& problem) { return BruteForce(problem).Run(); }

Result<Solution> ConvertByBruteForce(const Problem& problem, const std::vector<Pick>& picks) {
  return BruteForce(problem).Run(picks);
}

}  // namespace fettle::solver
