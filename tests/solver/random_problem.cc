#include "tests/solver/random_problem.h"

#include <algorithm>
#include <set>

namespace fettle::solver {
namespace {

class Generator {
 public:
  Generator(uint64_t seed, const RandomShape& shape) : random_(seed), shape_(shape) {}

  Problem Run() {
    problem_.nodes = shape_.nodes;
    const int inputs = Below(2) + 1;
    for (int i = 0; i < inputs; ++i) {
      Tensor& tensor = AddTensor(-1);
      tensor.given = {Below(StatesOf(tensor))};
      if (Chance(15)) tensor.given = {0, StatesOf(tensor) - 1};
      if (tensor.given.size() == 2 && tensor.given[0] == tensor.given[1]) tensor.given.pop_back();
    }
    for (int node = 0; node < shape_.nodes; ++node) AddNode(node);
    for (int node = 0; node < shape_.nodes; ++node) AddGroup({node});
    const int more = Below(shape_.nodes + 1);
    for (int i = 0; i < more; ++i) AddGroup(SomeNodes());
    return std::move(problem_);
  }

 private:
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  bool Chance(int percent) { return Below(100) < percent; }
  /// Quarters, so that sums are exact and ties happen.
  Cost RandomCost(int most) { return Below(most * 4) / 4.0; }
  double RandomError() { return shape_.has_errors && Chance(50) ? Below(16) / 8.0 : 0; }
  static int StatesOf(const Tensor& tensor) { return static_cast<int>(tensor.states.size()); }

  Tensor& AddTensor(int maker) {
    makers_.push_back(maker);
    Tensor& tensor = problem_.tensors.emplace_back();
    tensor.name = "t" + std::to_string(problem_.tensors.size() - 1);
    const int states = shape_.states - (shape_.states > 1 && Chance(25) ? 1 : 0);
    for (int s = 0; s < states; ++s) {
      tensor.states.push_back(std::string(1, static_cast<char>('a' + s)));
      if (shape_.has_bytes) tensor.bytes.push_back(Below(8) + 1);
    }
    for (int from = 0; from < states; ++from) {
      for (int to = 0; to < states; ++to) {
        if (from == to || Chance(15)) continue;
        tensor.conversions.push_back({from, to, RandomCost(6), RandomError()});
      }
    }
    return tensor;
  }

  void AddNode(int node) {
    const int known = static_cast<int>(problem_.tensors.size());
    std::set<int> reads;
    const int count = Below(3) + (node == 0 ? 1 : 0);
    for (int i = 0; i < count; ++i) reads.insert(Chance(60) ? known - 1 : Below(known));
    reads_.emplace_back(reads.begin(), reads.end());
    if (!reads.empty() && Chance(10)) reads_.back().push_back(*reads.begin());
    const int outputs = Chance(20) ? 2 : 1;
    for (int i = 0; i < outputs; ++i) {
      Tensor& tensor = AddTensor(node);
      if (node + 1 == shape_.nodes || Chance(10)) {
        if (Chance(30)) {
          tensor.wanted_in_any = true;
        } else {
          tensor.wanted = {Below(StatesOf(tensor))};
        }
      }
    }
  }

  std::vector<int> SomeNodes() {
    std::set<int> nodes = {Below(shape_.nodes)};
    const int more = Below(3) + 1;
    for (int i = 0; i < more; ++i) {
      const int near = *nodes.rbegin() + (Chance(80) ? 1 : -1);
      if (near >= 0 && near < shape_.nodes) nodes.insert(near);
      if (Chance(10)) nodes.insert(Below(shape_.nodes));
    }
    std::vector<int> listed(nodes.begin(), nodes.end());
    std::shuffle(listed.begin(), listed.end(), random_);
    return listed;
  }

  bool IsNeededOutside(int tensor, const std::vector<int>& nodes) const {
    const Tensor& t = problem_.tensors[static_cast<size_t>(tensor)];
    if (!t.wanted.empty() || t.wanted_in_any) return true;
    for (int node = 0; node < shape_.nodes; ++node) {
      if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) continue;
      const std::vector<int>& reads = reads_[static_cast<size_t>(node)];
      if (std::find(reads.begin(), reads.end(), tensor) != reads.end()) return true;
    }
    return false;
  }

  void AddGroup(const std::vector<int>& nodes) {
    Group& group = problem_.groups.emplace_back();
    group.name = "g" + std::to_string(problem_.groups.size() - 1);
    group.nodes = nodes;
    for (const int node : nodes) {
      for (const int tensor : reads_[static_cast<size_t>(node)]) {
        const int maker = makers_[static_cast<size_t>(tensor)];
        if (std::find(nodes.begin(), nodes.end(), maker) == nodes.end()) {
          group.inputs.push_back(tensor);
        }
      }
    }
    for (size_t t = 0; t < makers_.size(); ++t) {
      if (std::find(nodes.begin(), nodes.end(), makers_[t]) == nodes.end()) continue;
      if (nodes.size() == 1 || IsNeededOutside(static_cast<int>(t), nodes)) {
        group.outputs.push_back(static_cast<int>(t));
      }
    }
    const int choices = Below(shape_.choices) + 1;
    for (int c = 0; c < choices; ++c) AddChoice(group);
  }

  void AddChoice(Group& group) {
    Choice& choice = group.choices.emplace_back();
    choice.name = "c" + std::to_string(group.choices.size() - 1);
    const auto state_of = [&](int tensor) {
      return Below(StatesOf(problem_.tensors[static_cast<size_t>(tensor)]));
    };
    for (const int tensor : group.inputs) choice.inputs.push_back(state_of(tensor));
    for (const int tensor : group.outputs) choice.outputs.push_back(state_of(tensor));
    choice.cost = RandomCost(10) * static_cast<double>(group.nodes.size());
    choice.error = RandomError();
    choice.workspace = shape_.has_bytes && Chance(30) ? Below(6) : 0;
  }

  std::mt19937_64 random_;
  RandomShape shape_;
  Problem problem_;
  std::vector<int> makers_;              // by tensor, -1: graph input
  std::vector<std::vector<int>> reads_;  // by node
};

}  // namespace

Problem RandomProblem(uint64_t seed, const RandomShape& shape) {
  return Generator(seed, shape).Run();
}

}  // namespace fettle::solver
