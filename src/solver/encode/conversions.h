// The cheapest conversions of one tensor: paths between states, and sets of conversions that make
// every needed state from those there (directed Steiner trees over the states).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "solver/network/network.h"
#include "solver/problem/problem.h"

namespace fettle::solver {

/// What time, errors and bytes cost. By default time alone is minimised.
struct Prices {
  double time = 1;
  double error = 0;
  /// By node: price of a live byte; empty: none.
  std::vector<double> bytes;

  double BytesAt(int node) const { return bytes.empty() ? 0 : bytes[node]; }
};

/// Set of needed states: bit i stands for the i-th terminal, at most 64 of them.
using StateSet = uint64_t;
/// Most states that one tree may serve.
inline constexpr int kMostTerminals = 16;

/// Prices of a tensor's conversions where its writer runs at one step. Refers to the tensor.
class ConversionCosts {
 public:
  /// `terminals`: the states that may be needed.
  ConversionCosts(const Tensor& tensor, std::vector<int> terminals, const Prices& prices, int step);

  /// The cheapest chain of conversions, kForbidden where there is none.
  Cost Path(int from, int to) const { return path_[Index(from, to)]; }

  /// The cheapest set of conversions that makes all of `needed` from the copy in state `root`; as
  /// `root`, given() stands for all copies in the tensor's given states. The time grows with 3 to
  /// the number of needed states, of which there are at most kMostTerminals.
  Cost Tree(int root, StateSet needed);
  /// Those conversions in an order in which they can run: indices into Tensor::conversions.
  std::vector<int> TreeConversions(int root, StateSet needed);

  int given() const { return states_; }
  const std::vector<int>& terminals() const { return terminals_; }

 private:
  size_t Index(int from, int to) const {
    return static_cast<size_t>(from) * static_cast<size_t>(nodes_) + static_cast<size_t>(to);
  }
  void FindPaths(const Prices& prices, int step);
  /// By root: cost of the tree.
  const std::vector<Cost>& Trees(StateSet needed);
  void AddPath(int from, int to, std::vector<int>& used) const;
  void AddTree(int root, StateSet needed, std::vector<int>& used);
  std::vector<int> InOrder(int root, StateSet needed, const std::vector<int>& used) const;
  const Tensor& tensor_;
  std::vector<int> terminals_;
  int states_ = 0;
  int nodes_ = 0;           // states and, last, the source of given ones
  std::vector<Cost> path_;  // [from][to]
  std::vector<int> first_;  // [from][to]: first conversion of the path, -1: none
  std::unordered_map<StateSet, std::vector<Cost>> trees_;  // those asked for, and their parts
};

}  // namespace fettle::solver
