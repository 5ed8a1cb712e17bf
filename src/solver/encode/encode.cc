#include "solver/encode/encode.h"

#include <algorithm>
#include <set>

#include "solver/encode/tensor_costs.h"
#include "solver/encode/tensor_needs.h"
#include "solver/network/factors.h"
#include "solver/problem/evaluate.h"

namespace fettle::solver {
namespace {

/// The variables of nodes, and the factors that make groups cover each node once.
class Cover {
 public:
  Cover(const Problem& problem, const Kept& kept, const Prices& prices, Detail detail,
        Encoding& encoding)
      : problem_(problem),
        kept_(kept),
        prices_(prices),
        is_spread_(detail == Detail::kSpread),
        encoding_(encoding) {}

  void AddNodes() {
    encoding_.values.resize(problem_.nodes);
    network().unary.resize(problem_.nodes);
    for (size_t g = 0; g < kept_.size(); ++g) {
      if (!kept_[g].empty()) AddGroup(g);
    }
    for (size_t node = 0; node < encoding_.values.size(); ++node) {
      if (!encoding_.values[node].empty()) continue;
      encoding_.values[node].push_back({-1, -1});  // all its groups have lost their choices
      network().unary[node].push_back(kForbidden);
    }
  }

  /// A group's nodes take it together: its owner where each of the others does, or, where they all
  /// know its choice, each node where the next one does.
  void AddCover() {
    std::set<std::pair<int, int>> pairs;
    for (size_t g = 0; g < kept_.size(); ++g) {
      if (kept_[g].empty()) continue;
      std::vector<int> nodes = problem_.groups[g].nodes;
      std::sort(nodes.begin(), nodes.end());
      for (size_t i = 0; i + 1 < nodes.size(); ++i)
        pairs.insert({is_spread_ ? nodes[i + 1] : nodes.back(), nodes[i]});
    }
    for (const auto& [owner, node] : pairs) {
      const std::vector<Pick>& owned = encoding_.values[owner];
      const std::vector<Pick>& others = encoding_.values[node];
      AddPair(network(), owner, node, [&, owner = owner, node = node](int x, int y) {
        const Pick& mine = owned[x];
        const Pick& theirs = others[y];
        const bool same =
            mine.group == theirs.group && (!is_spread_ || mine.choice == theirs.choice);
        return same || (!Holds(mine.group, node) && !Holds(theirs.group, owner)) ? 0 : kForbidden;
      });
    }
  }

 private:
  Network& network() { return encoding_.network; }

  /// The values of a group's nodes.
  void AddGroup(size_t g) {
    const Group& group = problem_.groups[g];
    const int owner = StepOf(group);
    for (const int node : group.nodes) {
      std::vector<Pick>& values = encoding_.values[node];
      std::vector<Cost>& unary = network().unary[node];
      if (node != owner && !is_spread_) {
        values.push_back({static_cast<int>(g), -1});
        unary.push_back(0);
        continue;
      }
      for (const int c : kept_[g]) {
        values.push_back({static_cast<int>(g), c});
        unary.push_back(node == owner ? PriceOf(group.choices[c], owner) : 0);
      }
    }
  }

  Cost PriceOf(const Choice& choice, int step) const {
    return prices_.time * choice.cost + prices_.error * choice.error +
           prices_.BytesAt(step) * static_cast<double>(choice.workspace);
  }

  bool Holds(int group, int node) const {
    const std::vector<int>& nodes = problem_.groups[group].nodes;
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }

  const Problem& problem_;
  const Kept& kept_;
  const Prices& prices_;
  bool is_spread_;
  Encoding& encoding_;
};

}  // namespace

Result<Encoding> Encode(const Problem& problem, const Kept& kept, const Prices& prices,
                        Conversions conversions, Detail detail) {
  if (!prices.bytes.empty()) detail = Detail::kOwners;
  Encoding encoding;
  Cover cover(problem, kept, prices, detail, encoding);
  cover.AddNodes();
  cover.AddCover();
  const TensorUses uses(problem, kept, detail);
  NeedFinder needs(problem, kept, prices, conversions, uses, encoding);
  RETURN_IF_ERROR(needs.Run());
  TensorCosts costs(problem, prices, conversions, uses, needs, encoding);
  for (size_t t = 0; t < problem.tensors.size(); ++t) costs.Add(t);
  MergeFactors(encoding.network);
  return encoding;
}

std::vector<Pick> PicksOf(const Encoding& encoding, const Assignment& values) {
  std::vector<Pick> picks;
  for (size_t node = 0; node < encoding.values.size(); ++node) {
    const Pick& pick = encoding.values[node][values[node]];
    if (pick.choice >= 0) picks.push_back(pick);
  }
  std::sort(picks.begin(), picks.end());
  picks.erase(std::unique(picks.begin(), picks.end()), picks.end());
  return picks;
}

}  // namespace fettle::solver
