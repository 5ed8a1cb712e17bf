// A lower bound by moving costs between tables (sequential reweighted message passing, Kolmogorov
// 2006 and 2015) and by prices on memory (Lagrange multipliers of the steps' capacities).
#pragma once

#include <optional>
#include <vector>

#include "solver/network/factor_graph.h"
#include "solver/network/limited.h"

namespace fettle::solver {

/// For a problem in the form that Simplify leaves. Costs move from factors to variables and back;
/// at any time constant, unary tables and factors sum, for any assignment, to its cost plus what
/// its memory costs at the prices. Their least entries are the bound.
class DualBound {
 public:
  explicit DualBound(const LimitedNetwork& problem);

  /// No assignment that is allowed and fits costs less, whatever messages and prices are.
  Cost bound() const;

  /// Passes messages along the order of variables and back. Never lowers the bound but for
  /// rounding.
  void Pass();

  /// Moves the prices along a subgradient. `gain` is the rise of the bound to aim at.
  void StepPrices(Cost gain);

  /// By step, cost per byte.
  const std::vector<double>& prices() const { return prices_; }
  void SetPrices(std::vector<double> prices);

  /// The value of each variable that looked cheapest in the last pass.
  const Assignment& cheapest() const { return cheapest_; }

  /// Takes variables in order, each at the cheapest value that is allowed by and fits beside those
  /// before. Empty where it runs into a dead end.
  std::optional<Assignment> Round() const;

  /// For each value, what the bound would rise to if the variable had to take it, at least.
  std::vector<std::vector<Cost>> BoundsByValue() const;

  /// The problem with costs as they lie now, without what memory costs. Its bound at the same
  /// prices is this one.
  LimitedNetwork Reparametrised() const;

 private:
  struct Tie {
    int factor = 0;
    Axis axis;
    bool has_earlier = false;  // the factor has a variable before this one
    bool has_later = false;
  };
  void Visit(int variable, bool forward);
  std::vector<Cost> MinGiven(const Tie& tie, int variable, const Assignment& values) const;

  LimitedNetwork problem_;                 // costs as they lie now
  std::vector<std::vector<Tie>> ties_;     // by variable
  std::vector<std::vector<int>> held_of_;  // by variable: indices into problem_.held
  std::vector<double> prices_;
  std::vector<std::vector<Cost>> priced_;  // by variable and value: in the unary tables
  std::vector<double> excess_;             // by step: load minus capacity, smoothed
  Assignment cheapest_;
  std::vector<std::vector<Cost>> messages_;  // room for Visit
};

}  // namespace fettle::solver
