// All possible choices for a graph: every group, and for each kind of group every kernel, state and
// thread count. Equal groups are one kind, so they are listed and measured once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "planner/choices.h"

namespace fettle::planner {

/// A kernel in given states on a number of threads. Whoever prices it chooses the parameters
/// (EntryCost::proposal).
struct Entry {
  const kernels::KernelDesc* kernel = nullptr;
  /// The kernel's match of the kind's group, shared by its entries, and the index of its states.
  std::shared_ptr<const kernels::Match> match;
  int states_index = 0;
  kernels::StateAssignment states;
  int threads = 1;
  /// The default ones.
  kernels::Params params;
  /// The entry of the kind that differs from this one only in running on all threads; -1: none.
  /// Equal changes are called equal in all kinds.
  int base = -1;
  std::string change;
  /// Every output is a window of an input: nothing runs.
  bool is_view = false;
};

struct Kind {
  /// kernels::PrintCosts of the group: equal texts, equal costs.
  std::string text;
  /// The group of the first instance, with its constants.
  std::shared_ptr<const ir::Graph> group;
  std::vector<Entry> entries;
  std::vector<Rejection> rejected;

  kernels::Problem problem(const Entry& entry) const {
    return {group, entry.states, entry.threads};
  }
};

/// One group of the graph.
struct Instance {
  std::vector<ir::NodeId> nodes;
  int kind = 0;
  std::vector<ir::ValueId> inputs, outputs;
};

struct Catalogue {
  std::vector<Kind> kinds;
  std::vector<Instance> instances;  // those without an entry are left out
};

/// Lists everything for `graph`, whose values have concrete shapes. With several threads each entry
/// of the CPU also comes for one, and for as few as its work is worth (small_steps.h). References
/// are listed where nothing else computes a single node. Fails with kUnsupported, naming the node
/// and every kernel's reason, where a node has no entry.
Result<Catalogue> ListCatalogue(const ir::Graph& graph, const DeviceSet& devices,
                                const Limits& limits);

}  // namespace fettle::planner
