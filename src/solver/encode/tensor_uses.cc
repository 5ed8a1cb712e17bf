#include "solver/encode/tensor_uses.h"

#include <algorithm>

#include "solver/problem/evaluate.h"

namespace fettle::solver {

TensorUses::TensorUses(const Problem& problem, const Kept& kept, Detail detail)
    : problem_(problem),
      readers_(problem.tensors.size()),
      writers_(problem.tensors.size()),
      reading_(problem.tensors.size()),
      writing_(problem.tensors.size()) {
  for (size_t g = 0; g < kept.size(); ++g) {
    if (kept[g].empty()) continue;
    const Group& group = problem.groups[g];
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      readers_[group.inputs[i]].push_back({static_cast<int>(g), i});
    }
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      writers_[group.outputs[i]].push_back({static_cast<int>(g), i});
    }
  }
  if (detail == Detail::kSpread) FindEnds();
}

void TensorUses::FindEnds() {
  for (const Group& group : problem_.groups) {
    if (group.nodes.size() != 1) continue;
    for (const int t : group.inputs) reading_[t].insert(group.nodes[0]);
    for (const int t : group.outputs) writing_[t].insert(group.nodes[0]);
  }
}

int TensorUses::TiedNode(int group, const std::set<int>& ends) const {
  const std::vector<int>& nodes = problem_.groups[group].nodes;
  const auto end =
      std::find_if(nodes.begin(), nodes.end(), [&](int node) { return ends.contains(node); });
  return end != nodes.end() ? *end : OwnerOf(group);
}

int TensorUses::OwnerOf(int group) const { return StepOf(problem_.groups[group]); }

int TensorUses::StateRead(const Use& use, int choice) const {
  const Group& group = problem_.groups[use.group];
  return group.choices[choice].inputs[use.operand];
}

int TensorUses::StateWritten(const Use& use, int choice) const {
  const Group& group = problem_.groups[use.group];
  return group.choices[choice].outputs[use.operand];
}

}  // namespace fettle::solver
