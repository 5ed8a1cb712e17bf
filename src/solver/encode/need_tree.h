// Which sets of states the readers of tensors need, shared between tensors: the readers of one
// tensor are often the last ones of another's (concats of a growing list read the same tensors
// again and again), and need it in the same states.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "solver/encode/conversions.h"
#include "solver/network/network.h"

namespace fettle::solver {

/// A node variable that may read a tensor: by value, the needed states.
struct Reader {
  int variable = 0;
  std::vector<StateSet> needs;
};

/// Paths of readers from the last one on; tensors with a common head share it. Sets are over
/// numbers of state names, which are the same for all tensors.
class NeedTree {
 public:
  /// A set of needed states for one, or a few, last readers of some tensors.
  struct Node {
    int parent = -1;
    int depth = 0;
    int variable = 0;
    std::vector<std::vector<int>> needs;  // by the reader's value: numbers of states, ascending
    std::vector<int> states;              // all that a reader up to here may need, ascending
    bool is_marked = false;
    int set_variable = -1;       // says which set; -1: not made
    std::vector<StateSet> sets;  // by value of the variable: over `states`
  };

  /// Adds the readers of one tensor, last one first. Returns the node of each.
  std::vector<int> Add(const std::vector<Reader>& readers, const std::vector<int>& terminals,
                       const std::vector<std::string>& states);
  void Mark(int node) { nodes_[node].is_marked = true; }

  /// Makes a variable for each marked node of two readers or more: a set that holds what each of
  /// them needs. Fails with kUnsupported where there are too many sets.
  Status MakeVariables(Network& network);

  const Node& node(int index) const { return nodes_[index]; }
  /// `set` over the node's states, as a set over the terminals of a tensor.
  StateSet ToTerminals(int node, StateSet set, const std::vector<int>& terminals,
                       const std::vector<std::string>& states) const;

 private:
  int NumberOf(const std::string& state);
  Status MakeVariable(Node& node, Network& network);

  struct Key {
    int parent;
    int variable;
    std::vector<std::vector<int>> needs;
    auto operator<=>(const Key&) const = default;
  };
  std::map<std::string, int> numbers_;
  std::map<Key, int> by_key_;
  std::vector<Node> nodes_;
};

}  // namespace fettle::solver
