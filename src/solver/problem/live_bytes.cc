#include "solver/problem/live_bytes.h"

#include <algorithm>
#include <numeric>

#include "solver/problem/evaluate.h"

namespace fettle::solver {
namespace {

/// From which step to which each copy exists.
class Lives {
 public:
  explicit Lives(const Problem& problem)
      : problem_(problem), made_(problem.tensors.size()), first_state_(problem.tensors.size(), -1) {
    for (size_t t = 0; t < problem.tensors.size(); ++t) {
      lives_.emplace_back(problem.tensors[t].states.size());
      for (const int state : problem.tensors[t].given) Make(t, state, 0);
    }
  }

  void Write(const Pick& pick) {
    const Group& group = problem_.groups[pick.group];
    const Choice& choice = group.choices[pick.choice];
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      Make(group.outputs[i], choice.outputs[i], StepOf(group));
    }
  }

  void Convert(const Made& made) {
    const size_t t = made.tensor;
    const size_t conversion = made.conversion;
    Make(t, problem_.tensors[t].conversions[conversion].to, made_[t]);
  }

  void Read(const Pick& pick) {
    const Group& group = problem_.groups[pick.group];
    const Choice& choice = group.choices[pick.choice];
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      Life& life = LifeOf(group.inputs[i], choice.inputs[i]);
      life.first = std::min(life.first, StepOf(group));
      life.last = std::max(life.last, StepOf(group));
    }
  }

  /// What is wanted stays to the end.
  void Keep() {
    for (size_t t = 0; t < lives_.size(); ++t) {
      const Tensor& tensor = problem_.tensors[t];
      for (const int state : tensor.wanted) LifeOf(t, state).last = problem_.nodes - 1;
      if (tensor.wanted_in_any && first_state_[t] >= 0) {
        LifeOf(t, first_state_[t]).last = problem_.nodes - 1;
      }
    }
  }

  std::vector<int64_t> Bytes() const {
    std::vector<int64_t> bytes(problem_.nodes + 1, 0);
    for (size_t t = 0; t < lives_.size(); ++t) {
      if (problem_.tensors[t].bytes.empty()) continue;
      for (size_t state = 0; state < lives_[t].size(); ++state) {
        const Life& life = lives_[t][state];
        if (life.last < life.first) continue;
        bytes[life.first] += problem_.tensors[t].bytes[state];
        bytes[life.last + 1] -= problem_.tensors[t].bytes[state];
      }
    }
    std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
    bytes.pop_back();
    return bytes;
  }

 private:
  struct Life {
    int first = 0;
    int last = -1;  // before `first`: there is no such copy
  };

  Life& LifeOf(size_t tensor, int state) { return lives_[tensor][state]; }

  void Make(size_t tensor, int state, int step) {
    LifeOf(tensor, state) = {step, step};
    made_[tensor] = step;
    if (first_state_[tensor] < 0) first_state_[tensor] = state;
  }

  const Problem& problem_;
  std::vector<std::vector<Life>> lives_;  // by tensor and state
  std::vector<int> made_;                 // by tensor: the step at which it is written
  std::vector<int> first_state_;          // by tensor: the copy that was there first
};

}  // namespace

std::vector<int64_t> LiveBytes(const Problem& problem, const Solution& solution) {
  Lives lives(problem);
  for (const Pick& pick : solution.picks) lives.Write(pick);
  for (const Made& made : solution.conversions) lives.Convert(made);
  for (const Pick& pick : solution.picks) lives.Read(pick);
  lives.Keep();
  std::vector<int64_t> live = lives.Bytes();
  for (const Pick& pick : solution.picks) {
    const Group& group = problem.groups[pick.group];
    live[StepOf(group)] += group.choices[pick.choice].workspace;
  }
  return live;
}

}  // namespace fettle::solver
