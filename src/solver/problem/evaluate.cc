#include "solver/problem/evaluate.h"

#include <algorithm>

#include "solver/problem/live_bytes.h"

namespace fettle::solver {
namespace {

/// Checks one solution, item by item, from the problem alone.
class Evaluation {
 public:
  Evaluation(const Problem& problem, const Solution& solution)
      : problem_(problem), solution_(solution) {}

  Result<Cost> Run() {
    RETURN_IF_ERROR(CheckRanges());
    RETURN_IF_ERROR(CheckCover());
    RETURN_IF_ERROR(MakeCopies());
    RETURN_IF_ERROR(CheckReads());
    RETURN_IF_ERROR(CheckOrder());
    return cost_;
  }

 private:
  const Group& GroupOf(const Pick& pick) const { return problem_.groups[pick.group]; }
  const Choice& ChoiceOf(const Pick& pick) const { return GroupOf(pick).choices[pick.choice]; }

  Status CheckRanges() const {
    for (const Pick& pick : solution_.picks) {
      if (pick.group < 0 || pick.group >= std::ssize(problem_.groups)) {
        return InvalidArgument("pick: no group {}", pick.group);
      }
      if (pick.choice < 0 || pick.choice >= std::ssize(GroupOf(pick).choices)) {
        return InvalidArgument("pick: group {} has no choice {}", pick.group, pick.choice);
      }
    }
    for (const Made& made : solution_.conversions) {
      if (made.tensor < 0 || made.tensor >= std::ssize(problem_.tensors)) {
        return InvalidArgument("conversion: no tensor {}", made.tensor);
      }
      const Tensor& tensor = problem_.tensors[made.tensor];
      if (made.conversion < 0 || made.conversion >= std::ssize(tensor.conversions)) {
        return InvalidArgument("tensor {}: no conversion {}", made.tensor, made.conversion);
      }
    }
    return OkStatus();
  }

  Status CheckCover() {
    std::vector<int> times(problem_.nodes, 0);
    for (const Pick& pick : solution_.picks) {
      for (const int node : GroupOf(pick).nodes) ++times[node];
      cost_ += ChoiceOf(pick).cost;
    }
    for (size_t node = 0; node < times.size(); ++node) {
      if (times[node] != 1) {
        return InvalidArgument("node {} is computed {} times", node, times[node]);
      }
    }
    return OkStatus();
  }

  Status MakeCopies() {
    for (const Tensor& tensor : problem_.tensors) {
      copies_.emplace_back(tensor.states.size(), false);
      for (const int state : tensor.given) copies_.back()[state] = true;
    }
    for (const Pick& pick : solution_.picks) {
      const Group& group = GroupOf(pick);
      const Choice& choice = ChoiceOf(pick);
      for (size_t i = 0; i < group.outputs.size(); ++i) {
        const size_t tensor = group.outputs[i];
        copies_[tensor][choice.outputs[i]] = true;
      }
    }
    for (const Made& made : solution_.conversions) {
      const size_t tensor = made.tensor;
      const Conversion& conversion = problem_.tensors[tensor].conversions[made.conversion];
      if (!copies_[tensor][conversion.from]) {
        return InvalidArgument("tensor {}: conversion {} reads a copy that does not exist",
                               made.tensor, made.conversion);
      }
      copies_[tensor][conversion.to] = true;
      cost_ += conversion.cost;
    }
    return OkStatus();
  }

  Status CheckReads() const {
    for (const Pick& pick : solution_.picks) {
      const Group& group = GroupOf(pick);
      for (size_t i = 0; i < group.inputs.size(); ++i) {
        const size_t state = ChoiceOf(pick).inputs[i];
        if (!copies_[group.inputs[i]][state]) {
          return InvalidArgument("group {} reads tensor {} in state {}, of which there is no copy",
                                 pick.group, group.inputs[i], state);
        }
      }
    }
    for (size_t t = 0; t < problem_.tensors.size(); ++t) {
      const Tensor& tensor = problem_.tensors[t];
      for (const int state : tensor.wanted) {
        if (!copies_[t][state]) {
          return InvalidArgument("tensor {} is not there in the wanted state {}", t, state);
        }
      }
      if (tensor.wanted_in_any &&
          std::find(copies_[t].begin(), copies_[t].end(), true) == copies_[t].end()) {
        return InvalidArgument("tensor {} is wanted but nothing makes it", t);
      }
    }
    return OkStatus();
  }

  Status CheckOrder() const {
    if (!PicksOnCycle(problem_, solution_.picks).empty()) {
      return InvalidArgument("picked groups wait for each other");
    }
    return OkStatus();
  }

  const Problem& problem_;
  const Solution& solution_;
  Cost cost_ = 0;
  std::vector<std::vector<bool>> copies_;  // by tensor and state: it exists
};

/// By pick: the picks that read what it writes, once per operand.
std::vector<std::vector<int>> ReadersOf(const Problem& problem, const std::vector<Pick>& picks) {
  std::vector<int> writer(problem.tensors.size(), -1);
  for (size_t p = 0; p < picks.size(); ++p) {
    for (const int tensor : problem.groups[picks[p].group].outputs) {
      writer[tensor] = static_cast<int>(p);
    }
  }
  std::vector<std::vector<int>> readers(picks.size());
  for (size_t p = 0; p < picks.size(); ++p) {
    for (const int tensor : problem.groups[picks[p].group].inputs) {
      const int from = writer[tensor];
      if (from >= 0) readers[from].push_back(static_cast<int>(p));
    }
  }
  return readers;
}

/// Removes, again and again, picks that wait for nothing left; returns those that stay.
std::vector<int> Stuck(const std::vector<std::vector<int>>& readers) {
  std::vector<int> waits(readers.size(), 0);
  for (const std::vector<int>& of_pick : readers) {
    for (const int reader : of_pick) ++waits[reader];
  }
  std::vector<int> ready;
  for (size_t p = 0; p < waits.size(); ++p) {
    if (waits[p] == 0) ready.push_back(static_cast<int>(p));
  }
  while (!ready.empty()) {
    const int p = ready.back();
    ready.pop_back();
    waits[p] = -1;
    for (const int reader : readers[p]) {
      if (--waits[reader] == 0) ready.push_back(reader);
    }
  }
  std::vector<int> stuck;
  for (size_t p = 0; p < waits.size(); ++p) {
    if (waits[p] > 0) stuck.push_back(static_cast<int>(p));
  }
  return stuck;
}

}  // namespace

int StepOf(const Group& group) { return *std::max_element(group.nodes.begin(), group.nodes.end()); }

std::vector<int> PicksOnCycle(const Problem& problem, const std::vector<Pick>& picks) {
  const std::vector<std::vector<int>> readers = ReadersOf(problem, picks);
  const std::vector<int> stuck = Stuck(readers);
  if (stuck.empty()) return {};
  // What is stuck is on a cycle or behind one: walk back along unmet needs until one repeats.
  std::vector<int> back(picks.size(), -1);
  for (const int p : stuck) {
    for (const int reader : readers[p]) back[reader] = p;
  }
  int p = stuck.front();
  for (size_t i = 0; i < picks.size(); ++i) p = back[p];
  std::vector<int> cycle = {p};
  for (int q = back[p]; q != p; q = back[q]) {
    cycle.push_back(q);
  }
  return cycle;
}

Status CheckLimits(const Problem& problem, const Solution& solution) {
  if (problem.error_budget >= 0) {
    double error = 0;
    for (const Pick& pick : solution.picks) {
      const Group& group = problem.groups[pick.group];
      error += group.choices[pick.choice].error;
    }
    for (const Made& made : solution.conversions) {
      const Tensor& tensor = problem.tensors[made.tensor];
      error += tensor.conversions[made.conversion].error;
    }
    if (error > problem.error_budget * (1 + kErrorSlack)) {
      return InvalidArgument("error {} exceeds the budget of {}", error, problem.error_budget);
    }
  }
  if (problem.memory_limit < 0) return OkStatus();
  const std::vector<int64_t> live = LiveBytes(problem, solution);
  for (size_t node = 0; node < live.size(); ++node) {
    if (live[node] > problem.memory_limit) {
      return InvalidArgument("{} bytes are live at node {}, over the limit of {}", live[node], node,
                             problem.memory_limit);
    }
  }
  return OkStatus();
}

Result<Cost> Evaluate(const Problem& problem, const Solution& solution) {
  RETURN_IF_ERROR(Validate(problem));
  ASSIGN_OR_RETURN(const Cost cost, Evaluation(problem, solution).Run());
  RETURN_IF_ERROR(CheckLimits(problem, solution));
  return cost;
}

}  // namespace fettle::solver
