#include "solver/bounded/tree_search.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "solver/bounded/priced_memory.h"

namespace fettle::solver {
namespace {

/// Moves between looks at the clock and changes of the weight of overloads.
constexpr int64_t kPeriod = 256;

int PlaceOfLeast(const std::vector<Cost>& costs) {
  return static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

/// Part of the network whose factors form a tree; each node's parent comes before it.
struct Tree {
  struct Node {
    int variable = 0;
    int parent = -1;  // place in the tree
    int factor = -1;  // that ties it to the parent
    std::vector<Cost> costs;
    std::vector<int> best;  // for each value of the parent
  };
  std::vector<Node> nodes;
  size_t size = 0;  // nodes in use; the others keep their memory
};

class TreeSearch {
 public:
  TreeSearch(const LimitedNetwork& problem, const std::vector<double>& prices, Assignment start,
             const TreeSearchOptions& options)
      : problem_(problem),
        options_(options),
        random_(options.seed),
        factors_of_(FactorsByVariable(problem.network)),
        memory_(problem, prices, start, 1e-12 * options.hottest),
        in_tree_(problem.network.unary.size(), 0),
        values_(std::move(start)) {
    PenaliseForbidden();
  }

  std::optional<Assignment> Run() {
    RememberIfBetter();
    const double cooling =
        std::log(options_.coolest / options_.hottest) / static_cast<double>(options_.moves);
    for (int64_t move = 0; move < options_.moves; ++move) {
      if (move % kPeriod == 0) {
        if (options_.deadline.Passed()) break;
        memory_.AdaptWeight();
      }
      Move(options_.hottest * std::exp(cooling * static_cast<double>(move)));
    }
    return best_;
  }

 private:
  /// Forbidden entries become so expensive that no sum of others reaches them.
  void PenaliseForbidden() {
    Network& network = problem_.network;
    forbidden_cost_ = 1;
    const auto add = [this](const std::vector<Cost>& table) {
      Cost most = 0;
      for (const Cost cost : table) {
        if (cost < kForbidden) most = std::max(most, std::abs(cost));
      }
      forbidden_cost_ += most;
    };
    for (const auto& costs : network.unary) add(costs);
    for (const Factor& factor : network.factors) add(factor.table);
    const auto replace = [this](std::vector<Cost>& table) {
      std::replace(table.begin(), table.end(), kForbidden, 2 * forbidden_cost_);
    };
    for (auto& costs : network.unary) replace(costs);
    for (Factor& factor : network.factors) replace(factor.table);
  }

  /// Exponential with mean 1.
  double Waiting() { return -std::log((static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53); }
  /// Gumbel: the least cost minus noise is a sample of the Boltzmann distribution.
  double Noise() { return -std::log(Waiting()); }

  void Move(Cost temperature) {
    GrowTree();
    for (size_t i = 0; i < tree_.size; ++i) SetCosts(tree_.nodes[i], temperature);
    for (size_t i = tree_.size; i-- > 1;) SendToParent(tree_.nodes[i]);
    old_values_ = values_;
    const double old_overload = memory_.overload();
    if (TakeBestValues()) {
      memory_.Sum();
      const double worse = memory_.weight() * (memory_.overload() - old_overload);
      if (worse > temperature * Waiting()) {
        Undo();
        memory_.set_overload(old_overload);
      } else {
        RememberIfBetter();
      }
    }
    for (size_t i = 0; i < tree_.size; ++i) in_tree_[Index(tree_.nodes[i].variable)] = 0;
  }

  /// From a random variable on, by random neighbours that are tied to the tree once.
  void GrowTree() {
    const auto count = static_cast<uint64_t>(problem_.network.variables());
    const auto most = 1 + random_() % static_cast<uint64_t>(options_.most_variables);
    tree_.size = 0;
    fringe_.clear();
    AddToTree(static_cast<int>(random_() % count), -1, -1);
    while (tree_.size < most && !fringe_.empty()) {
      const size_t pick = random_() % fringe_.size();
      const auto [variable, parent] = fringe_[pick];
      fringe_[pick] = fringe_.back();
      fringe_.pop_back();
      if (in_tree_[Index(variable)]) continue;
      int ties = 0;
      int tie = -1;
      for (const int f : factors_of_[Index(variable)]) {
        for (const int w : problem_.network.factors[Index(f)].scope) {
          if (w == variable || !in_tree_[Index(w)]) continue;
          ++ties;
          tie = f;
        }
      }
      if (ties == 1) AddToTree(variable, parent, tie);
    }
  }

  void AddToTree(int variable, int parent, int factor) {
    if (tree_.nodes.size() == tree_.size) tree_.nodes.emplace_back();
    Tree::Node& node = tree_.nodes[tree_.size];
    node.variable = variable;
    node.parent = parent;
    node.factor = factor;
    in_tree_[Index(variable)] = 1;
    for (const int f : factors_of_[Index(variable)]) {
      for (const int w : problem_.network.factors[Index(f)].scope) {
        if (!in_tree_[Index(w)]) fringe_.emplace_back(w, static_cast<int>(tree_.size));
      }
    }
    ++tree_.size;
  }

  /// Where the entries of `variable`'s values lie, all others at their values: the first one's
  /// place and the distance between neighbours.
  std::pair<size_t, size_t> EntriesOf(const Factor& factor, int variable) const {
    size_t first = 0;
    size_t stride = 0;
    for (const int w : factor.scope) {
      const size_t domain = Index(problem_.network.domain(w));
      first *= domain;
      stride = w == variable ? 1 : stride * domain;
      if (w != variable) first += Index(values_[Index(w)]);
    }
    return {first, stride};
  }

  /// Own costs, those of memory, noise, and of factors whose other variables are not in the tree.
  void SetCosts(Tree::Node& node, Cost temperature) {
    const int v = node.variable;
    node.costs = problem_.network.unary[Index(v)];
    for (Cost& cost : node.costs) cost -= temperature * Noise();
    memory_.AddPrices(v, node.costs);
    for (const int f : factors_of_[Index(v)]) {
      const Factor& factor = problem_.network.factors[Index(f)];
      const auto inside = std::count_if(factor.scope.begin(), factor.scope.end(),
                                        [this](int w) { return in_tree_[Index(w)]; });
      if (inside > 1) continue;
      const auto [first, stride] = EntriesOf(factor, v);
      for (size_t x = 0; x < node.costs.size(); ++x) {
        node.costs[x] += factor.table[first + x * stride];
      }
    }
  }

  void SendToParent(Tree::Node& node) {
    Tree::Node& parent = tree_.nodes[Index(node.parent)];
    const Factor& factor = problem_.network.factors[Index(node.factor)];
    const auto [own_first, own_stride] = EntriesOf(factor, node.variable);
    const auto [parent_first, parent_stride] = EntriesOf(factor, parent.variable);
    // The first entry of both has neither's value in it.
    const size_t first = own_first - Index(values_[Index(parent.variable)]) * parent_stride;
    node.best.resize(parent.costs.size());
    for (size_t y = 0; y < parent.costs.size(); ++y) {
      const Cost* entries = &factor.table[first + y * parent_stride];
      size_t best = 0;
      Cost least = kForbidden;
      for (size_t x = 0; x < node.costs.size(); ++x) {
        const Cost cost = node.costs[x] + entries[x * own_stride];
        if (cost < least) {
          least = cost;
          best = x;
        }
      }
      parent.costs[y] += least;
      node.best[y] = static_cast<int>(best);
    }
  }

  /// False where all stay as they are.
  bool TakeBestValues() {
    bool changed = false;
    for (size_t i = 0; i < tree_.size; ++i) {
      const Tree::Node& node = tree_.nodes[i];
      const int value =
          i == 0 ? PlaceOfLeast(node.costs)
                 : node.best[Index(values_[Index(tree_.nodes[Index(node.parent)].variable)])];
      changed |= value != values_[Index(node.variable)];
      SetValue(node.variable, value);
    }
    return changed;
  }

  void Undo() {
    for (size_t i = 0; i < tree_.size; ++i) {
      const int v = tree_.nodes[i].variable;
      SetValue(v, old_values_[Index(v)]);
    }
  }

  void SetValue(int variable, int value) {
    const int old = values_[Index(variable)];
    if (old == value) return;
    values_[Index(variable)] = value;
    memory_.Change(variable, old, value);
  }

  void RememberIfBetter() {
    if (memory_.overload() > 0) return;
    const Cost cost = Sum(problem_.network, values_);
    if (cost >= best_cost_ || cost - problem_.network.constant > forbidden_cost_) return;
    best_cost_ = cost;
    best_ = values_;
  }

  LimitedNetwork problem_;  // without forbidden entries
  TreeSearchOptions options_;
  std::mt19937_64 random_;
  std::vector<std::vector<int>> factors_of_;
  PricedMemory memory_;
  Cost forbidden_cost_ = 0;

  Tree tree_;
  std::vector<char> in_tree_;
  std::vector<std::pair<int, int>> fringe_;  // variable, place of the tree's node beside it

  Assignment values_;
  Assignment old_values_;
  std::optional<Assignment> best_;
  Cost best_cost_ = kForbidden;
};

}  // namespace

std::optional<Assignment> SearchByTrees(const LimitedNetwork& problem,
                                        const std::vector<double>& prices, Assignment start,
                                        const TreeSearchOptions& options) {
  return TreeSearch(problem, prices, std::move(start), options).Run();
}

}  // namespace fettle::solver
