#include "solver/brute.h"

#include <algorithm>
#include <set>

#include "solver/evaluate.h"

namespace fettle::solver {
namespace {

/// Partial solutions looked at before it is called too large.
constexpr int64_t kMostSteps = 200'000'000;

class BruteForce {
 public:
  explicit BruteForce(const Problem& problem)
      : problem_(problem), covered_(static_cast<size_t>(problem.nodes), false) {}

  Result<Solution> Run() {
    Cover(0);
    if (steps_ > kMostSteps) return Unsupported("too large for brute force");
    if (!found_) return Unsupported("no cover keeps the limits");
    best_.bound = best_.cost;
    return best_;
  }

 private:
  void Cover(int node) {
    if (++steps_ > kMostSteps || now_.cost >= best_.cost) return;
    while (node < problem_.nodes && covered_[static_cast<size_t>(node)]) ++node;
    if (node == problem_.nodes) return Serve();
    for (size_t g = 0; g < problem_.groups.size(); ++g) {
      const std::vector<int>& nodes = problem_.groups[g].nodes;
      const auto is_covered = [&](int n) { return covered_[static_cast<size_t>(n)]; };
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end() ||
          std::any_of(nodes.begin(), nodes.end(), is_covered)) {
        continue;
      }
      for (const int n : nodes) covered_[static_cast<size_t>(n)] = true;
      for (size_t c = 0; c < problem_.groups[g].choices.size(); ++c) {
        const Choice& choice = problem_.groups[g].choices[c];
        const Solution before = now_;
        now_.picks.push_back({static_cast<int>(g), static_cast<int>(c)});
        now_.cost += choice.cost;
        now_.error += choice.error;
        Cover(node + 1);
        now_ = before;
      }
      for (const int n : nodes) covered_[static_cast<size_t>(n)] = false;
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
      const Group& group = problem_.groups[static_cast<size_t>(pick.group)];
      const Choice& choice = group.choices[static_cast<size_t>(pick.choice)];
      for (size_t i = 0; i < group.inputs.size(); ++i) {
        needed_[static_cast<size_t>(group.inputs[i])].insert(choice.inputs[i]);
      }
      for (size_t i = 0; i < group.outputs.size(); ++i) {
        there_[static_cast<size_t>(group.outputs[i])].insert(choice.outputs[i]);
      }
    }
    Convert(0);
  }

  /// Tries every set of conversions of `tensor` and the tensors after it.
  void Convert(size_t tensor) {
    if (++steps_ > kMostSteps || now_.cost >= best_.cost) return;
    if (tensor == problem_.tensors.size()) return Compare();
    if (std::includes(there_[tensor].begin(), there_[tensor].end(), needed_[tensor].begin(),
                      needed_[tensor].end())) {
      Convert(tensor + 1);
    }
    const std::vector<Conversion>& conversions = problem_.tensors[tensor].conversions;
    for (size_t c = 0; c < conversions.size(); ++c) {
      if (there_[tensor].count(conversions[c].from) == 0) continue;
      if (!there_[tensor].insert(conversions[c].to).second) continue;
      const Solution before = now_;
      now_.conversions.push_back({static_cast<int>(tensor), static_cast<int>(c)});
      now_.cost += conversions[c].cost;
      now_.error += conversions[c].error;
      Convert(tensor);
      now_ = before;
      there_[tensor].erase(conversions[c].to);
    }
  }

  void Compare() {
    if (!Evaluate(problem_, now_).ok()) return;
    found_ = true;
    best_ = now_;
  }

  const Problem& problem_;
  std::vector<bool> covered_;
  std::vector<std::set<int>> needed_, there_;  // by tensor
  Solution now_;
  Solution best_{{}, {}, std::numeric_limits<Cost>::infinity(), 0, 0};
  bool found_ = false;
  int64_t steps_ = 0;
};

}  // namespace

Result<Solution> SolveByBruteForce(const Problem& problem) { return BruteForce(problem).Run(); }

}  // namespace fettle::solver
