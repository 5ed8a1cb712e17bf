// Variable elimination: exact, in time and memory of the tables that the order makes.
#pragma once

#include <cstdint>
#include <vector>

#include "solver/exact/elimination_order.h"
#include "solver/network/network.h"

namespace fettle::solver {

/// Eliminates variables one after the other.
class Elimination {
 public:
  /// `network` must outlive it.
  explicit Elimination(const Network& network);

  /// Eliminates `variable`: the tables that hold it become one over its neighbours.
  void Take(int variable);

  /// What is left: its variables are those of the network that were not taken, in ascending order.
  Network Rest() const;
  std::vector<int> RestVariables() const;

  /// The best values of all variables, given those of the rest.
  Assignment Extend(const Assignment& rest) const;

 private:
  /// Best value of an eliminated variable, by the values of its neighbours.
  struct Memory {
    int variable;
    std::vector<int> scope;
    std::vector<uint16_t> best;
  };

  const Network& network_;
  std::vector<Factor> factors_;         // given and made; an empty table is used up
  std::vector<std::vector<int>> with_;  // by variable: factors_ that hold it, used up ones too
  std::vector<Memory> memories_;
  std::vector<bool> taken_;
  Cost constant_;
};

struct Eliminated {
  Cost cost = kForbidden;  // kForbidden: no assignment is allowed, `values` means nothing
  Assignment values;
};

/// The cheapest assignment.
Eliminated Eliminate(const Network& network, const EliminationOrder& order);

}  // namespace fettle::solver
