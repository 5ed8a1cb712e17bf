// The choices for one group: kernels that can compute it, in which states, with reasons for those
// that cannot.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "passes/groups.h"

namespace fettle::planner {

/// What may be chosen from.
struct Limits {
  int threads = 1;
  /// Only scalar references (and conversions, should they need any).
  bool reference_only = false;
};

/// One way to compute a group.
struct Choice {
  const kernels::KernelDesc* kernel = nullptr;
  kernels::StateAssignment states;
};

struct Rejection {
  std::string_view kernel;
  std::string reason;
};

/// A group cut out of its graph, with what can compute it: most preferred kernel first, its best
/// states first.
struct GroupChoices {
  std::vector<ir::NodeId> nodes;  // of the parent graph
  passes::Fragment fragment;
  std::vector<Choice> choices;
  std::vector<Rejection> rejected;
};

GroupChoices ListChoices(const ir::Graph& graph, const passes::Group& group, const Device& device,
                         const Limits& limits);

}  // namespace fettle::planner
