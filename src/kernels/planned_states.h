// Facts of a kernel that learns what it can compute by planning each state.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/family.h"

namespace fettle::kernels {

/// A plan for each assignment of states that a kernel computes a group in, best first.
template <typename Plan>
class PlannedStates {
 public:
  bool Has(const StateAssignment& states) const { return Find(states) != rows_.end(); }
  void Add(StateAssignment states, std::shared_ptr<const Plan> plan) {
    rows_.push_back({std::move(states), std::move(plan)});
  }
  void Append(PlannedStates more) {
    std::move(more.rows_.begin(), more.rows_.end(), std::back_inserter(rows_));
  }

  size_t size() const { return rows_.size(); }
  const StateAssignment& states(size_t i) const { return rows_[i].states; }
  const std::shared_ptr<const Plan>& plan(size_t i) const { return rows_[i].plan; }
  /// The plan of states that it has.
  const Plan& In(const StateAssignment& states) const { return *Find(states)->plan; }

 private:
  struct Row {
    StateAssignment states;
    std::shared_ptr<const Plan> plan;
  };

  typename std::vector<Row>::const_iterator Find(const StateAssignment& states) const {
    return std::find_if(rows_.begin(), rows_.end(),
                        [&](const Row& row) { return row.states == states; });
  }

  std::vector<Row> rows_;
};

/// Family::states of such facts.
template <typename Plan>
Result<std::vector<StateAssignment>> ListPlanned(const ir::Graph&,
                                                 const PlannedStates<Plan>& planned,
                                                 const Device&) {
  std::vector<StateAssignment> states;
  for (size_t i = 0; i < planned.size(); ++i) states.push_back(planned.states(i));
  return states;
}

}  // namespace fettle::kernels
