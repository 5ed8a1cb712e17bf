// In which order to eliminate the variables of a network.
#pragma once

#include <vector>

#include "solver/network/network.h"

namespace fettle::solver {

/// An order in which to eliminate all variables, and the tables that this makes.
struct EliminationOrder {
  std::vector<int> variables;
  std::vector<int> widths;     // by step: variables of the resulting table
  std::vector<double> tables;  // by step: its entries
  int width = 0;               // variables of the widest table
  double largest = 0;          // entries of the largest table
  double entries = 0;          // of all tables
  double sums = 0;  // entries times the domain of the eliminated variable: the time it takes

  /// Memory that Eliminate needs, at most.
  double Bytes() const;
};

/// Smallest resulting table first; where that makes large tables also other rules, and the best
/// order. The same for equal networks.
EliminationOrder FindOrder(const Network& network);

}  // namespace fettle::solver
