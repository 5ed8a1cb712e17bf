#include "solver/encode/tensor_costs.h"

#include <algorithm>
#include <set>

#include "solver/network/factors.h"

namespace fettle::solver {
namespace {

double BytesOf(const Tensor& tensor, int state) {
  return tensor.bytes.empty() ? 0 : static_cast<double>(tensor.bytes[state]);
}

}  // namespace

void TensorCosts::Add(size_t t) {
  const TensorNeeds& needs = needs_.Of(t);
  if (uses_.writers(t).empty() && needs.readers.empty() && needs.wanted == 0 &&
      !problem_.tensors[t].wanted_in_any) {
    return;
  }
  const Source source = MakeSource(t);
  PriceLives(t);
  std::map<int, ConversionCosts> by_step;
  AddReaders(t, source.variable, [&](int written, StateSet needed) {
    return CostOf(t, source.written[written], needed | needs.wanted, by_step);
  });
}

/// Adds cost(what is written, what is needed).
template <typename CostFn>
void TensorCosts::AddReaders(size_t t, int source, CostFn cost) {
  const TensorNeeds& needs = needs_.Of(t);
  if (needs.readers.empty()) {
    AddTo(source, -1, [&](int from, int) { return cost(from, 0); });
  } else if (!is_shared_ || needs.readers.size() == 1) {
    for (const Reader& reader : needs.readers) {
      AddTo(source, reader.variable, [&](int from, int x) { return cost(from, reader.needs[x]); });
    }
  } else if (needs.is_direct) {
    AddDirect(needs, source, cost);
  } else {
    const int last = needs.path.back();
    const NeedTree::Node& node = needs_.tree().node(last);
    std::vector<StateSet> sets;
    for (const StateSet set : node.sets) {
      sets.push_back(
          needs_.tree().ToTerminals(last, set, needs.terminals, problem_.tensors[t].states));
    }
    AddTo(source, node.set_variable, [&](int from, int set) { return cost(from, sets[set]); });
  }
}

/// One table over the source, if it is a variable, and all readers.
template <typename CostFn>
void TensorCosts::AddDirect(const TensorNeeds& needs, int source, CostFn cost) {
  std::vector<int> scope;
  for (const Reader& reader : needs.readers) scope.push_back(reader.variable);
  if (source >= 0) scope.push_back(source);
  AddTable(network(), scope, [&](const std::vector<int>& values) {
    StateSet needed = 0;
    for (size_t i = 0; i < needs.readers.size(); ++i) {
      needed |= needs.readers[i].needs[values[i]];
    }
    return cost(source >= 0 ? values.back() : 0, needed);
  });
}

/// Adds cost(x, y) over two variables; -1 stands for a constant of value 0.
template <typename CostFn>
void TensorCosts::AddTo(int a, int b, CostFn cost) {
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

TensorCosts::WrittenBy TensorCosts::FindWriters(size_t t) const {
  WrittenBy all;
  for (const Use& use : uses_.writers(t)) {
    const int node = uses_.WriterOf(use.group, t);
    const std::vector<Pick>& values = encoding_.values[node];
    std::vector<Written>& written = all[node];
    written.resize(values.size());
    for (size_t x = 0; x < values.size(); ++x) {
      if (values[x].group == use.group)
        written[x] = {node, uses_.StateWritten(use, values[x].choice)};
    }
  }
  return all;
}

TensorCosts::Source TensorCosts::MakeSource(size_t t) {
  const Tensor& tensor = problem_.tensors[t];
  if (uses_.writers(t).empty()) {
    const int given = static_cast<int>(tensor.states.size());
    return {-1, {{kAbsent, tensor.given.empty() ? kAbsent : given}}};
  }
  const WrittenBy by_variable = FindWriters(t);
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
              const Written& from = source.written[w];
              const Written& made = written[x];
              const bool agree =
                  made.variable == kAbsent ? from.variable != variable : from == made;
              return agree ? 0 : kForbidden;
            });
  }
  return source;
}

bool TensorCosts::Reads(size_t t, int variable) const {
  const std::vector<Reader>& readers = needs_.Of(t).readers;
  return std::any_of(readers.begin(), readers.end(),
                     [&](const Reader& reader) { return reader.variable == variable; });
}

Cost TensorCosts::CostOf(size_t t, const Written& written, StateSet needed,
                         std::map<int, ConversionCosts>& by_step) const {
  const Tensor& tensor = problem_.tensors[t];
  if (written.state == kAbsent) return needed == 0 && !tensor.wanted_in_any ? 0 : kForbidden;
  const int step = std::max(written.variable, 0);
  ConversionCosts& conversions = by_step
                                     .try_emplace(prices_.bytes.empty() ? 0 : step, tensor,
                                                  needs_.Of(t).terminals, prices_, step)
                                     .first->second;
  return conversions.Tree(written.state, needed) + PriceOfFirstLife(t, written, needed, step);
}

double TensorCosts::PriceBetween(int from, int to) const {
  double price = 0;
  for (int node = from + 1; node <= to; ++node) price += prices_.BytesAt(node);
  return price;
}

/// What is written lives at its step; what the first reader or a later one needs lives from then
/// to the first reader, what is wanted to the end.
Cost TensorCosts::PriceOfFirstLife(size_t t, const Written& written, StateSet needed,
                                   int step) const {
  const Tensor& tensor = problem_.tensors[t];
  if (prices_.bytes.empty() || tensor.bytes.empty()) return 0;
  const TensorNeeds& needs = needs_.Of(t);
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
void TensorCosts::PriceLives(size_t t) {
  const Tensor& tensor = problem_.tensors[t];
  const TensorNeeds& needs = needs_.Of(t);
  if (prices_.bytes.empty() || tensor.bytes.empty()) return;
  int latest_write = 0;
  for (const Use& use : uses_.writers(t))
    latest_write = std::max(latest_write, uses_.OwnerOf(use.group));
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
      AddUnary(network(), needs.readers[0].variable, [&](int x) { return price_of(sets[x]); });
      continue;
    }
    const NeedTree::Node& node = needs_.tree().node(needs.path[k]);
    AddUnary(network(), node.set_variable, [&](int set) {
      return price_of(
          needs_.tree().ToTerminals(needs.path[k], node.sets[set], needs.terminals, tensor.states));
    });
  }
}

}  // namespace fettle::solver
