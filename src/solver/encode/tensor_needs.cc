#include "solver/encode/tensor_needs.h"

#include <algorithm>
#include <map>
#include <set>

#include "solver/network/factors.h"

namespace fettle::solver {
namespace {

/// A tensor whose source and readers have no more combinations gets one table over them all.
constexpr double kDirectEntries = 2048;
constexpr size_t kDirectReaders = 4;

StateSet BitOf(const TensorNeeds& needs, int state) {
  const auto at = std::lower_bound(needs.terminals.begin(), needs.terminals.end(), state);
  return StateSet{1} << (at - needs.terminals.begin());
}

size_t MostTogether(const TensorNeeds& needs) {
  size_t together = __builtin_popcountll(needs.wanted);
  for (const Reader& reader : needs.readers) {
    int most = 0;
    for (const StateSet set : reader.needs) most = std::max(most, __builtin_popcountll(set));
    together += most;
  }
  return std::min(together, needs.terminals.size());
}

bool Overlap(const Group& a, const Group& b) {
  return std::any_of(a.nodes.begin(), a.nodes.end(), [&](int node) {
    return std::find(b.nodes.begin(), b.nodes.end(), node) != b.nodes.end();
  });
}

}  // namespace

Status NeedFinder::Run() {
  for (size_t t = 0; t < problem_.tensors.size(); ++t) {
    ASSIGN_OR_RETURN(TensorNeeds needs, FindNeeds(t));
    tensors_.push_back(std::move(needs));
  }
  return tree_.MakeVariables(encoding_.network);
}

Result<TensorNeeds> NeedFinder::FindNeeds(size_t t) {
  TensorNeeds needs;
  RETURN_IF_ERROR(FindTerminals(t, needs));
  FindReaders(t, needs);
  if (prices_.bytes.empty() && is_shared_) MergeReaders(t, needs.readers);
  needs.is_direct = needs.readers.size() < 2 || !is_shared_ || IsDirect(t, needs.readers);
  const size_t together = needs.is_direct ? MostTogether(needs) : needs.terminals.size();
  if (together > kMostTerminals) return TooManyStates(t, needs);
  if (needs.is_direct) return needs;
  needs.path = tree_.Add(needs.readers, needs.terminals, problem_.tensors[t].states);
  tree_.Mark(needs.path.back());
  if (!prices_.bytes.empty()) {
    for (const int node : needs.path) tree_.Mark(node);
  }
  return needs;
}

Status NeedFinder::FindTerminals(size_t t, TensorNeeds& needs) const {
  const Tensor& tensor = problem_.tensors[t];
  std::set<int> terminals(tensor.wanted.begin(), tensor.wanted.end());
  for (const Use& use : uses_.readers(t)) {
    for (const int c : kept_[use.group]) terminals.insert(uses_.StateRead(use, c));
  }
  needs.terminals.assign(terminals.begin(), terminals.end());
  if (needs.terminals.size() > 8 * sizeof(StateSet)) return TooManyStates(t, needs);
  for (const int state : tensor.wanted) needs.wanted |= BitOf(needs, state);
  return OkStatus();
}

void NeedFinder::FindReaders(size_t t, TensorNeeds& needs) const {
  std::map<int, std::vector<StateSet>, std::greater<>> by_variable;
  for (const Use& use : uses_.readers(t)) {
    const int node = uses_.ReaderOf(use.group, t);
    const std::vector<Pick>& values = encoding_.values[node];
    std::vector<StateSet>& sets = by_variable[node];
    sets.resize(values.size(), 0);
    for (size_t x = 0; x < values.size(); ++x) {
      if (values[x].group == use.group)
        sets[x] |= BitOf(needs, uses_.StateRead(use, values[x].choice));
    }
  }
  for (auto& [variable, sets] : by_variable) needs.readers.push_back({variable, std::move(sets)});
}

void NeedFinder::MergeReaders(size_t t, std::vector<Reader>& readers) {
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
    readers.push_back(Merge(merged));
  }
}

Reader NeedFinder::Merge(const std::vector<Reader>& readers) {
  std::set<StateSet> distinct;
  for (const Reader& reader : readers) distinct.insert(reader.needs.begin(), reader.needs.end());
  Reader one{-1, {distinct.begin(), distinct.end()}};
  Network& network = encoding_.network;
  one.variable = AddVariable(network, std::vector<Cost>(one.needs.size(), 0));
  for (const Reader& reader : readers) {
    AddPair(network, one.variable, reader.variable, [&](int set, int x) {
      const StateSet need = reader.needs[x];
      return (need & ~one.needs[set]) == 0 ? 0 : kForbidden;
    });
  }
  return one;
}

bool NeedFinder::AreExclusive(size_t t, int a, int b) const {
  const auto group = [&](const Use& use) -> const Group& { return problem_.groups[use.group]; };
  for (const Use& first : uses_.readers(t)) {
    if (uses_.ReaderOf(first.group, t) != a) continue;
    for (const Use& second : uses_.readers(t)) {
      if (uses_.ReaderOf(second.group, t) == b && !Overlap(group(first), group(second)))
        return false;
    }
  }
  return true;
}

bool NeedFinder::IsDirect(size_t t, const std::vector<Reader>& readers) const {
  if (readers.size() > kDirectReaders || !prices_.bytes.empty()) return false;
  std::set<std::pair<int, int>> written;
  for (const Use& use : uses_.writers(t)) {
    for (const int c : kept_[use.group])
      written.insert({uses_.WriterOf(use.group, t), uses_.StateWritten(use, c)});
  }
  double entries = static_cast<double>(written.size() + 1);
  for (const Reader& reader : readers) entries *= static_cast<double>(reader.needs.size());
  return entries <= kDirectEntries;
}

Status NeedFinder::TooManyStates(size_t t, const TensorNeeds& needs) const {
  return Unsupported("tensor {} '{}' may be needed in {} states, more than {}", t,
                     problem_.tensors[t].name, needs.terminals.size(), kMostTerminals);
}

}  // namespace fettle::solver
