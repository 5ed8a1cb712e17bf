#include "planner/fewer_conversions.h"

#include <algorithm>

#include "planner/same_bytes.h"

namespace fettle::planner {
namespace {

/// What a GPU moves while it launches: 2 us at 2 TB/s.
constexpr int64_t kLaunchBytes = int64_t{4} << 20;

class Conversions {
 public:
  Conversions(const ir::Graph& graph, const Cover& cover, std::vector<const Choice*>& chosen)
      : graph_(graph), cover_(cover), chosen_(chosen), values_(graph.values().size()) {
    for (size_t g = 0; g < cover.size(); ++g) {
      const passes::Fragment& fragment = cover[g].fragment;
      for (size_t i = 0; i < fragment.inputs.size(); ++i)
        values_[fragment.inputs[i]].readers.push_back({g, i});
      for (size_t i = 0; i < fragment.outputs.size(); ++i)
        values_[fragment.outputs[i]].makers.push_back({g, i});
    }
    for (ir::ValueId id : graph.outputs) values_[id].leaves = true;
  }

  /// Takes the choice of group `g` around which least is moved; returns whether it is another one.
  bool Improve(size_t g) {
    const Choice* const before = chosen_[g];
    const Choice* best = before;
    int64_t least = CostAround(g);
    for (const Choice& choice : cover_[g].choices) {
      if (&choice == before || !IsAsGood(choice, *before)) continue;
      chosen_[g] = &choice;
      const int64_t cost = CostAround(g);
      if (cost < least) best = &choice, least = cost;
    }
    chosen_[g] = best;
    return best != before;
  }

 private:
  struct Operand {
    size_t group, index;
  };
  struct Value {
    std::vector<Operand> makers, readers;  // one maker, or none of what the caller gives
    bool leaves = false;
  };

  static bool IsAsGood(const Choice& choice, const Choice& other) {
    const auto is_external = [](const State& a, const State& b) {
      return a.external == b.external;
    };
    return choice.taste == other.taste && choice.kernel->device() == other.kernel->device() &&
           std::ranges::equal(choice.states().inputs, other.states().inputs, is_external);
  }

  int64_t Moved(const Shape& shape, const State& from, const State& to) const {
    if (from == to || SameBytes(shape, from, to)) return 0;
    return kLaunchBytes + StateBytes(shape, from) + StateBytes(shape, to);
  }

  /// All conversions of a value: one for each state that its readers want.
  int64_t CostOf(ir::ValueId id) const {
    const Value& value = values_[id];
    const Shape& shape = *graph_.value(id).shape;
    State from{.storage = graph_.value(id).dtype, .external = true};
    for (const Operand& maker : value.makers)
      from = chosen_[maker.group]->states().outputs[maker.index];
    int64_t cost = 0;
    if (value.leaves) {
      State wanted = from;
      wanted.layout = Layout::RowMajor();
      wanted.storage = graph_.value(id).dtype;
      wanted.external = true;
      cost += Moved(shape, from, wanted);
    }
    std::vector<const State*> counted;
    for (const Operand& reader : value.readers) {
      const State& wanted = chosen_[reader.group]->states().inputs[reader.index];
      if (std::ranges::any_of(counted, [&](const State* one) { return *one == wanted; })) continue;
      counted.push_back(&wanted);
      cost += Moved(shape, from, wanted);
    }
    return cost;
  }

  /// What the group itself moves, nothing where it is a view, and all conversions of its operands.
  int64_t CostAround(size_t g) const {
    const passes::Fragment& fragment = cover_[g].fragment;
    const Choice& choice = *chosen_[g];
    int64_t cost = 0;
    if (!choice.match->is_view(choice.states_index)) {
      cost += kLaunchBytes;
      for (size_t i = 0; i < fragment.outputs.size(); ++i)
        cost +=
            2 * StateBytes(*graph_.value(fragment.outputs[i]).shape, choice.states().outputs[i]);
    }
    for (ir::ValueId id : fragment.inputs) cost += CostOf(id);
    for (ir::ValueId id : fragment.outputs) cost += CostOf(id);
    return cost;
  }

  const ir::Graph& graph_;
  const Cover& cover_;
  std::vector<const Choice*>& chosen_;
  IdVector<ir::ValueId, Value> values_;
};

}  // namespace

void TakeFewerConversions(const ir::Graph& graph, const Cover& cover,
                          const std::vector<size_t>& order, std::vector<const Choice*>& chosen) {
  const auto is_beside = [&](size_t g) { return chosen[g]->kernel->device() != DeviceKind::kCpu; };
  if (std::ranges::none_of(order, is_beside)) return;
  constexpr int kMostTurns = 8;
  Conversions conversions(graph, cover, chosen);
  bool changed = true;
  for (int turn = 0; turn < kMostTurns && changed; ++turn) {
    changed = false;
    for (size_t g : order) changed |= is_beside(g) && conversions.Improve(g);
  }
}

}  // namespace fettle::planner
