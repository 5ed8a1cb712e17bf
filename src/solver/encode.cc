#include "solver/encode.h"

#include <algorithm>
#include <map>
#include <set>

#include "solver/evaluate.h"
#include "solver/factors.h"
#include "solver/need_tree.h"

namespace fettle::solver {
namespace {

constexpr int kAbsent = -1;
/// A tensor whose source and readers have no more combinations gets one table over them all.
constexpr double kDirectEntries = 2048;
constexpr size_t kDirectReaders = 4;

/// A state in which a tensor is written, and by which node's variable; kAbsent where nothing writes
/// it.
struct Written {
  int variable = kAbsent;  // of the node that owns the writing group
  int state = kAbsent;
  auto operator<=>(const Written&) const = default;
};

/// Where a tensor comes from: a variable, by value what is written. No variable: given.
struct Source {
  int variable = -1;
  std::vector<Written> written;
};

/// A group's operand.
struct Use {
  int group = 0;
  size_t operand = 0;
};

class Encoder {
 public:
  Encoder(const Problem& problem, const Kept& kept, const Prices& prices, Conversions conversions,
          Detail detail)
      : problem_(problem),
        kept_(kept),
        prices_(prices),
        is_shared_(conversions == Conversions::kShared),
        is_spread_(detail == Detail::kSpread && prices.bytes.empty()),
        reading_(problem.tensors.size()),
        writing_(problem.tensors.size()),
        readers_(problem.tensors.size()),
        writers_(problem.tensors.size()) {}

  Result<Encoding> Run() {
    if (is_spread_) FindEnds();
    AddNodes();
    AddCover();
    for (size_t g = 0; g < kept_.size(); ++g) {
      if (kept_[g].empty()) continue;
      const Group& group = problem_.groups[g];
      for (size_t i = 0; i < group.inputs.size(); ++i) {
        readers_[static_cast<size_t>(group.inputs[i])].push_back({static_cast<int>(g), i});
      }
      for (size_t i = 0; i < group.outputs.size(); ++i) {
        writers_[static_cast<size_t>(group.outputs[i])].push_back({static_cast<int>(g), i});
      }
    }
    for (size_t t = 0; t < problem_.tensors.size(); ++t) RETURN_IF_ERROR(FindNeeds(t));
    RETURN_IF_ERROR(needs_.MakeVariables(network()));
    for (size_t t = 0; t < problem_.tensors.size(); ++t) AddTensor(t);
    MergeFactors(network());
    return std::move(encoding_);
  }

 private:
  /// What is known of a tensor before its costs are added. Readers are node variables, so their
  /// numbers are their steps where bytes have prices; else some may be merged ones.
  struct TensorNeeds {
    std::vector<int> terminals;
    StateSet wanted = 0;
    std::vector<Reader> readers;  // last one first
    bool is_direct = true;        // one table over source and readers
    std::vector<int> path;        // else: of the readers in needs_
  };

  Network& network() { return encoding_.network; }
  const Tensor& TensorAt(size_t t) const { return problem_.tensors[t]; }
  int OwnerOf(int group) const { return StepOf(problem_.groups[static_cast<size_t>(group)]); }

  /// Which nodes alone read and write each tensor.
  void FindEnds() {
    for (const Group& group : problem_.groups) {
      if (group.nodes.size() != 1) continue;
      for (const int t : group.inputs) reading_[static_cast<size_t>(t)].insert(group.nodes[0]);
      for (const int t : group.outputs) writing_[static_cast<size_t>(t)].insert(group.nodes[0]);
    }
  }
  /// The node of a group that is tied to an operand: one of `ends`, else the owner.
  int TiedNode(int group, const std::set<int>& ends) const {
    const std::vector<int>& nodes = problem_.groups[static_cast<size_t>(group)].nodes;
    const auto end =
        std::find_if(nodes.begin(), nodes.end(), [&](int node) { return ends.contains(node); });
    return end != nodes.end() ? *end : OwnerOf(group);
  }
  int ReaderOf(int group, size_t t) const { return TiedNode(group, reading_[t]); }
  int WriterOf(int group, size_t t) const { return TiedNode(group, writing_[t]); }
  const Choice& ChoiceOf(const Pick& pick) const {
    return problem_.groups[static_cast<size_t>(pick.group)]
        .choices[static_cast<size_t>(pick.choice)];
  }
  static double BytesOf(const Tensor& tensor, int state) {
    return tensor.bytes.empty() ? 0 : static_cast<double>(tensor.bytes[static_cast<size_t>(state)]);
  }

  void AddNodes() {
    encoding_.values.resize(static_cast<size_t>(problem_.nodes));
    network().unary.resize(static_cast<size_t>(problem_.nodes));
    for (size_t g = 0; g < kept_.size(); ++g) {
      if (kept_[g].empty()) continue;
      const int owner = OwnerOf(static_cast<int>(g));
      for (const int node : problem_.groups[g].nodes) {
        std::vector<Pick>& values = encoding_.values[static_cast<size_t>(node)];
        std::vector<Cost>& unary = network().unary[static_cast<size_t>(node)];
        if (node != owner && !is_spread_) {
          values.push_back({static_cast<int>(g), -1});
          unary.push_back(0);
          continue;
        }
        for (const int c : kept_[g]) {
          const Choice& choice = problem_.groups[g].choices[static_cast<size_t>(c)];
          values.push_back({static_cast<int>(g), c});
          unary.push_back(node != owner
                              ? 0
                              : prices_.time * choice.cost + prices_.error * choice.error +
                                    prices_.BytesAt(owner) * static_cast<double>(choice.workspace));
        }
      }
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
      const std::vector<Pick>& owned = encoding_.values[static_cast<size_t>(owner)];
      const std::vector<Pick>& others = encoding_.values[static_cast<size_t>(node)];
      AddPair(network(), owner, node, [&, owner = owner, node = node](int x, int y) {
        const Pick& mine = owned[static_cast<size_t>(x)];
        const Pick& theirs = others[static_cast<size_t>(y)];
        const bool same =
            mine.group == theirs.group && (!is_spread_ || mine.choice == theirs.choice);
        return same || (!Holds(mine.group, node) && !Holds(theirs.group, owner)) ? 0 : kForbidden;
      });
    }
  }
  bool Holds(int group, int node) const {
    const std::vector<int>& nodes = problem_.groups[static_cast<size_t>(group)].nodes;
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }

  Status FindNeeds(size_t t) {
    const Tensor& tensor = TensorAt(t);
    TensorNeeds& needs = tensors_.emplace_back();
    std::set<int> terminals(tensor.wanted.begin(), tensor.wanted.end());
    for (const Use& use : readers_[t]) {
      for (const int c : kept_[static_cast<size_t>(use.group)]) {
        terminals.insert(ChoiceOf({use.group, c}).inputs[use.operand]);
      }
    }
    needs.terminals.assign(terminals.begin(), terminals.end());
    if (needs.terminals.size() > 8 * sizeof(StateSet)) return TooManyStates(t);
    for (const int state : tensor.wanted) needs.wanted |= BitOf(needs, state);
    std::map<int, std::vector<StateSet>, std::greater<>> by_variable;
    for (const Use& use : readers_[t]) {
      const int node = ReaderOf(use.group, t);
      const std::vector<Pick>& values = encoding_.values[static_cast<size_t>(node)];
      std::vector<StateSet>& sets = by_variable[node];
      sets.resize(values.size(), 0);
      for (size_t x = 0; x < values.size(); ++x) {
        if (values[x].group != use.group) continue;
        sets[x] |= BitOf(needs, ChoiceOf(values[x]).inputs[use.operand]);
      }
    }
    for (auto& [variable, sets] : by_variable) needs.readers.push_back({variable, std::move(sets)});
    if (prices_.bytes.empty() && is_shared_) MergeReaders(t, needs.readers);
    needs.is_direct = needs.readers.size() < 2 || !is_shared_ || IsDirect(t);
    const size_t together = needs.is_direct ? MostTogether(needs) : needs.terminals.size();
    if (together > kMostTerminals) return TooManyStates(t);
    if (needs.is_direct) return OkStatus();
    needs.path = needs_.Add(needs.readers, needs.terminals, tensor.states);
    needs_.Mark(needs.path.back());
    if (!prices_.bytes.empty()) {
      for (const int node : needs.path) needs_.Mark(node);
    }
    return OkStatus();
  }

  /// Readers of which a cover takes one at most (a node alone, or in a group with its neighbours)
  /// become one, whose variable says no more than what is needed.
  void MergeReaders(size_t t, std::vector<Reader>& readers) {
    std::vector<std::vector<Reader>> exclusive;
    for (Reader& reader : readers) {
      const auto fits = [&](const std::vector<Reader>& others) {
        return std::all_of(others.begin(), others.end(), [&](const Reader& other) {
          return AreExclusive(t, reader.variable, other.variable);
        });
      };
      auto place = std::find_if(exclusive.begin(), exclusive.end(), fits);
      if (place == exclusive.end()) place = exclusive.insert(place, std::vector<Reader>());
      place->push_back(std::move(reader));
    }
    readers.clear();
    for (std::vector<Reader>& merged : exclusive) {
      if (merged.size() == 1 || exclusive.size() == 1) {
        std::move(merged.begin(), merged.end(), std::back_inserter(readers));
        continue;
      }
      std::set<StateSet> distinct;
      for (const Reader& reader : merged) distinct.insert(reader.needs.begin(), reader.needs.end());
      Reader one{-1, {distinct.begin(), distinct.end()}};
      one.variable = AddVariable(network(), std::vector<Cost>(one.needs.size(), 0));
      for (const Reader& reader : merged) {
        AddPair(network(), one.variable, reader.variable, [&](int set, int x) {
          const StateSet need = reader.needs[static_cast<size_t>(x)];
          return (need & ~one.needs[static_cast<size_t>(set)]) == 0 ? 0 : kForbidden;
        });
      }
      readers.push_back(std::move(one));
    }
  }
  bool AreExclusive(size_t t, int a, int b) const {
    for (const Use& first : readers_[t]) {
      if (ReaderOf(first.group, t) != a) continue;
      for (const Use& second : readers_[t]) {
        if (ReaderOf(second.group, t) == b && !Overlap(first.group, second.group)) return false;
      }
    }
    return true;
  }
  bool Overlap(int a, int b) const {
    const std::vector<int>& nodes = problem_.groups[static_cast<size_t>(a)].nodes;
    return std::any_of(nodes.begin(), nodes.end(), [&](int node) { return Holds(b, node); });
  }

  static size_t MostTogether(const TensorNeeds& needs) {
    size_t together = static_cast<size_t>(__builtin_popcountll(needs.wanted));
    for (const Reader& reader : needs.readers) {
      int most = 0;
      for (const StateSet set : reader.needs) most = std::max(most, __builtin_popcountll(set));
      together += static_cast<size_t>(most);
    }
    return std::min(together, needs.terminals.size());
  }

  /// One table tells all: few readers, few combinations, and no price on what lives between them.
  bool IsDirect(size_t t) const {
    const std::vector<Reader>& readers = tensors_[t].readers;
    if (readers.size() > kDirectReaders || !prices_.bytes.empty()) return false;
    std::set<std::pair<int, int>> written;
    for (const Use& use : writers_[t]) {
      for (const int c : kept_[static_cast<size_t>(use.group)]) {
        written.insert({WriterOf(use.group, t), ChoiceOf({use.group, c}).outputs[use.operand]});
      }
    }
    double entries = static_cast<double>(written.size() + 1);
    for (const Reader& reader : readers) entries *= static_cast<double>(reader.needs.size());
    return entries <= kDirectEntries;
  }
  static StateSet BitOf(const TensorNeeds& needs, int state) {
    const auto at = std::lower_bound(needs.terminals.begin(), needs.terminals.end(), state);
    return StateSet{1} << (at - needs.terminals.begin());
  }
  Status TooManyStates(size_t t) const {
    return Unsupported("tensor {} '{}' may be needed in {} states, more than {}", t,
                       TensorAt(t).name, tensors_.back().terminals.size(), kMostTerminals);
  }

  void AddTensor(size_t t) {
    const TensorNeeds& needs = tensors_[t];
    if (writers_[t].empty() && needs.readers.empty() && needs.wanted == 0 &&
        !TensorAt(t).wanted_in_any) {
      return;
    }
    const Source source = MakeSource(t);
    PriceLives(t);
    std::map<int, ConversionCosts> by_step;
    const auto cost = [&](int written, StateSet needed) {
      return CostOf(t, source.written[static_cast<size_t>(written)], needed | needs.wanted,
                    by_step);
    };
    if (!is_shared_ && needs.readers.size() > 1) {
      for (const Reader& reader : needs.readers) {
        AddTo(source.variable, reader.variable,
              [&](int from, int x) { return cost(from, reader.needs[static_cast<size_t>(x)]); });
      }
    } else if (needs.readers.empty()) {
      AddTo(source.variable, -1, [&](int from, int) { return cost(from, 0); });
    } else if (needs.readers.size() == 1) {
      const Reader& reader = needs.readers.front();
      AddTo(source.variable, reader.variable,
            [&](int from, int x) { return cost(from, reader.needs[static_cast<size_t>(x)]); });
    } else if (needs.is_direct) {
      AddDirect(needs, source.variable, cost);
    } else {
      const int last = needs.path.back();
      const NeedTree::Node& node = needs_.node(last);
      std::vector<StateSet> sets;
      for (const StateSet set : node.sets) {
        sets.push_back(needs_.ToTerminals(last, set, needs.terminals, TensorAt(t).states));
      }
      AddTo(source.variable, node.set_variable,
            [&](int from, int set) { return cost(from, sets[static_cast<size_t>(set)]); });
    }
  }

  /// One table over the source, if it is a variable, and all readers.
  template <typename CostFn>
  void AddDirect(const TensorNeeds& needs, int source, CostFn cost) {
    std::vector<int> scope;
    for (const Reader& reader : needs.readers) scope.push_back(reader.variable);
    if (source >= 0) scope.push_back(source);
    AddTable(network(), scope, [&](const std::vector<int>& values) {
      StateSet needed = 0;
      for (size_t i = 0; i < needs.readers.size(); ++i) {
        needed |= needs.readers[i].needs[static_cast<size_t>(values[i])];
      }
      return cost(source >= 0 ? values.back() : 0, needed);
    });
  }

  /// Adds cost(x, y) over two variables; -1 stands for a constant of value 0.
  template <typename CostFn>
  void AddTo(int a, int b, CostFn cost) {
    if (a >= 0 && b >= 0) {
      AddPair(network(), a, b, cost);
    } else if (a >= 0) {
      AddUnary(network(), a, [&](int x) { return cost(x, 0); });
    } else if (b >= 0) {
      AddUnary(network(), b, [&](int y) { return cost(0, y); });
    } else {
      network().constant += cost(0, 0);
    }
  }

  Source MakeSource(size_t t) {
    if (writers_[t].empty()) {
      const int given = static_cast<int>(TensorAt(t).states.size());
      return {-1, {{kAbsent, TensorAt(t).given.empty() ? kAbsent : given}}};
    }
    std::map<int, std::vector<Written>> by_variable;
    for (const Use& use : writers_[t]) {
      const int node = WriterOf(use.group, t);
      const std::vector<Pick>& values = encoding_.values[static_cast<size_t>(node)];
      std::vector<Written>& written = by_variable[node];
      written.resize(values.size());
      for (size_t x = 0; x < values.size(); ++x) {
        if (values[x].group != use.group) continue;
        written[x] = {node, ChoiceOf(values[x]).outputs[use.operand]};
      }
    }
    std::set<Written> distinct;
    for (const auto& [variable, written] : by_variable) {
      distinct.insert(written.begin(), written.end());
    }
    if (by_variable.size() == 1 && !Reads(t, by_variable.begin()->first) &&
        distinct.size() * 3 > by_variable.begin()->second.size() * 2) {
      return {by_variable.begin()->first, by_variable.begin()->second};
    }
    if (by_variable.size() > 1) distinct.insert(Written{});
    Source source;
    source.written.assign(distinct.begin(), distinct.end());
    source.variable = AddVariable(network(), std::vector<Cost>(source.written.size(), 0));
    for (const auto& [variable, written] : by_variable) {
      AddPair(network(), source.variable, variable,
              [&, variable = variable, &written = written](int w, int x) {
                const Written& from = source.written[static_cast<size_t>(w)];
                const Written& made = written[static_cast<size_t>(x)];
                const bool agree =
                    made.variable == kAbsent ? from.variable != variable : from == made;
                return agree ? 0 : kForbidden;
              });
    }
    return source;
  }
  bool Reads(size_t t, int variable) const {
    return std::any_of(tensors_[t].readers.begin(), tensors_[t].readers.end(),
                       [&](const Reader& reader) { return reader.variable == variable; });
  }

  /// Cost of serving `needed` from what is written, with the price of the copies up to the first
  /// reader.
  Cost CostOf(size_t t, const Written& written, StateSet needed,
              std::map<int, ConversionCosts>& by_step) const {
    const Tensor& tensor = TensorAt(t);
    if (written.state == kAbsent) {
      return needed == 0 && !tensor.wanted_in_any ? 0 : kForbidden;
    }
    const int step = std::max(written.variable, 0);
    ConversionCosts& conversions = by_step
                                       .try_emplace(prices_.bytes.empty() ? 0 : step, tensor,
                                                    tensors_[t].terminals, prices_, step)
                                       .first->second;
    return conversions.Tree(written.state, needed) + PriceOfFirstLife(t, written, needed, step);
  }

  /// Price of bytes at the nodes after `from` up to `to`.
  double PriceBetween(int from, int to) const {
    double price = 0;
    for (int node = from + 1; node <= to; ++node) price += prices_.BytesAt(node);
    return price;
  }

  /// What is written lives at its step; what the first reader or a later one needs lives from then
  /// to the first reader, what is wanted to the end.
  Cost PriceOfFirstLife(size_t t, const Written& written, StateSet needed, int step) const {
    const Tensor& tensor = TensorAt(t);
    if (prices_.bytes.empty() || tensor.bytes.empty()) return 0;
    const TensorNeeds& needs = tensors_[t];
    Cost cost = 0;
    if (written.variable != kAbsent) {
      cost += prices_.BytesAt(step) * BytesOf(tensor, written.state);
    } else {
      for (const int state : tensor.given) cost += prices_.BytesAt(0) * BytesOf(tensor, state);
    }
    const int first = needs.readers.empty() ? step : needs.readers.back().variable;
    const double to_first = PriceBetween(step, first);
    const double to_end = needs.wanted == 0 ? 0 : PriceBetween(step, problem_.nodes - 1);
    for (size_t i = 0; i < needs.terminals.size(); ++i) {
      const StateSet bit = StateSet{1} << i;
      if ((needed & bit) == 0) continue;
      const double price = (needs.wanted & bit) != 0 ? to_end : to_first;
      cost += price * BytesOf(tensor, needs.terminals[i]);
    }
    return cost;
  }

  /// Prices the copies between one reader and the one before it, but for the first reader.
  void PriceLives(size_t t) {
    const Tensor& tensor = TensorAt(t);
    const TensorNeeds& needs = tensors_[t];
    if (prices_.bytes.empty() || tensor.bytes.empty()) return;
    int latest_write = 0;
    for (const Use& use : writers_[t]) latest_write = std::max(latest_write, OwnerOf(use.group));
    for (size_t k = 0; k + 1 < needs.readers.size(); ++k) {
      const int from = std::max(needs.readers[k + 1].variable, latest_write);
      const double price = PriceBetween(from, needs.readers[k].variable);
      const auto price_of = [&](StateSet set) {
        Cost cost = 0;
        for (size_t i = 0; i < needs.terminals.size(); ++i) {
          if ((set & ~needs.wanted & StateSet{1} << i) != 0) {
            cost += price * BytesOf(tensor, needs.terminals[i]);
          }
        }
        return cost;
      };
      if (price == 0) continue;
      if (k == 0) {
        const std::vector<StateSet>& sets = needs.readers[0].needs;
        AddUnary(network(), needs.readers[0].variable,
                 [&](int x) { return price_of(sets[static_cast<size_t>(x)]); });
        continue;
      }
      const NeedTree::Node& node = needs_.node(needs.path[k]);
      AddUnary(network(), node.set_variable, [&](int set) {
        return price_of(needs_.ToTerminals(needs.path[k], node.sets[static_cast<size_t>(set)],
                                           needs.terminals, tensor.states));
      });
    }
  }

  const Problem& problem_;
  const Kept& kept_;
  const Prices& prices_;
  bool is_shared_, is_spread_;
  std::vector<std::set<int>> reading_, writing_;  // by tensor, where is_spread_
  Encoding encoding_;
  std::vector<std::vector<Use>> readers_, writers_;  // by tensor
  std::vector<TensorNeeds> tensors_;
  NeedTree needs_;
};

}  // namespace

Result<Encoding> Encode(const Problem& problem, const Kept& kept, const Prices& prices,
                        Conversions conversions, Detail detail) {
  return Encoder(problem, kept, prices, conversions, detail).Run();
}

std::vector<Pick> PicksOf(const Encoding& encoding, const Assignment& values) {
  std::vector<Pick> picks;
  for (size_t node = 0; node < encoding.values.size(); ++node) {
    const Pick& pick = encoding.values[node][static_cast<size_t>(values[node])];
    if (pick.choice >= 0) picks.push_back(pick);
  }
  std::sort(picks.begin(), picks.end());
  picks.erase(std::unique(picks.begin(), picks.end()), picks.end());
  return picks;
}

Result<Solution> Complete(const Problem& problem, std::vector<Pick> picks, const Prices& prices) {
  const auto group_of = [&](const Pick& pick) -> const Group& {
    return problem.groups[static_cast<size_t>(pick.group)];
  };
  const auto first_node = [&](const Pick& pick) {
    return *std::min_element(group_of(pick).nodes.begin(), group_of(pick).nodes.end());
  };
  std::sort(picks.begin(), picks.end(),
            [&](const Pick& a, const Pick& b) { return first_node(a) < first_node(b); });
  std::vector<std::set<int>> needed;
  std::vector<int> roots, steps(problem.tensors.size(), 0);
  for (const Tensor& tensor : problem.tensors) {
    needed.emplace_back(tensor.wanted.begin(), tensor.wanted.end());
    roots.push_back(tensor.given.empty() ? kAbsent : static_cast<int>(tensor.states.size()));
  }
  Solution solution;
  for (const Pick& pick : picks) {
    const Group& group = group_of(pick);
    const Choice& choice = group.choices[static_cast<size_t>(pick.choice)];
    solution.cost += choice.cost;
    solution.error += choice.error;
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      needed[static_cast<size_t>(group.inputs[i])].insert(choice.inputs[i]);
    }
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      roots[static_cast<size_t>(group.outputs[i])] = choice.outputs[i];
      steps[static_cast<size_t>(group.outputs[i])] = StepOf(group);
    }
  }
  for (size_t t = 0; t < problem.tensors.size(); ++t) {
    const Tensor& tensor = problem.tensors[t];
    if (needed[t].empty() && !tensor.wanted_in_any) continue;
    if (roots[t] == kAbsent) {
      return Unsupported("tensor {} '{}' is needed but nothing makes it", t, tensor.name);
    }
    if (needed[t].size() > kMostTerminals) {
      return Unsupported("tensor {} '{}' is needed in more than {} states", t, tensor.name,
                         kMostTerminals);
    }
    ConversionCosts costs(tensor, {needed[t].begin(), needed[t].end()}, prices, steps[t]);
    const StateSet all = (StateSet{1} << needed[t].size()) - 1;
    if (costs.Tree(roots[t], all) == kForbidden) {
      return Unsupported("tensor {} '{}' cannot be converted to a state that is needed", t,
                         tensor.name);
    }
    for (const int c : costs.TreeConversions(roots[t], all)) {
      solution.conversions.push_back({static_cast<int>(t), c});
      solution.cost += tensor.conversions[static_cast<size_t>(c)].cost;
      solution.error += tensor.conversions[static_cast<size_t>(c)].error;
    }
  }
  solution.picks = std::move(picks);
  return solution;
}

}  // namespace fettle::solver
