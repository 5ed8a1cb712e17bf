// The assignment problem as a value: which group computes each node, by which choice, in which
// states its tensors are made and converted. Knows no operator and no device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::solver {

/// Microseconds.
using Cost = double;

/// Making a copy of a tensor in state `to` from one in state `from` (indices into Tensor::states).
struct Conversion {
  int from = 0;
  int to = 0;
  Cost cost = 0;
  double error = 0;
};

/// A value of the graph. Its copies in several states may exist side by side; each is made once,
/// whoever reads it.
struct Tensor {
  std::string name;
  std::vector<std::string> states;
  /// Bytes of a copy in each state; empty: 0. Counts against Problem::memory_limit.
  std::vector<int64_t> bytes;
  /// At most one per ordered pair; chains of them are allowed.
  std::vector<Conversion> conversions;
  /// States in which the tensor exists before anything runs (graph inputs); else empty.
  std::vector<int> given;
  /// States in which it must exist at the end (graph outputs). One entry is a pinned state; several
  /// are all needed.
  std::vector<int> wanted;
  /// True: a graph output whose caller takes any state (`wanted` is empty).
  bool wanted_in_any = false;
};

/// One way to compute a group: states by operand (a tensor may be read several times), the time of
/// the kernel, its loss of accuracy and its workspace.
struct Choice {
  std::string name;
  std::vector<int> inputs;
  std::vector<int> outputs;
  Cost cost = 0;
  double error = 0;
  int64_t workspace = 0;
};

/// Nodes that are computed as one. Groups overlap; a solution takes groups that hold each node
/// once. A tensor that a group neither reads nor writes but that lies inside it has no state.
struct Group {
  std::string name;
  std::vector<int> nodes;
  std::vector<int> inputs;   // tensors, one per operand
  std::vector<int> outputs;  // tensors
  std::vector<Choice> choices;
};

/// The sum of chosen kernels' costs and of conversions is minimised.
struct Problem {
  /// Nodes are 0 .. nodes - 1, in an order in which the graph can run.
  int nodes = 0;
  std::vector<Tensor> tensors;
  std::vector<Group> groups;
  /// Limit on the sum of errors of choices and conversions; negative: none.
  double error_budget = -1;
  /// Limit on live bytes at any node, in node order; negative: none. A copy is live from the node
  /// that writes it (a conversion happens right after its tensor is written) to its last reader.
  int64_t memory_limit = -1;
};

/// The choice of one group that a solution takes.
struct Pick {
  int group = 0;
  int choice = 0;
  auto operator<=>(const Pick&) const = default;
};

/// A conversion of a tensor that a solution makes: index into Tensor::conversions.
struct Made {
  int tensor = 0;
  int conversion = 0;
  bool operator==(const Made&) const = default;
};

/// Picks in order of their first node; conversions of a tensor in an order in which they can run.
struct Solution {
  std::vector<Pick> picks;
  std::vector<Made> conversions;
  Cost cost = 0;
  double error = 0;
  /// No solution costs less than this. Equal to `cost` where the solution is proven optimal.
  Cost bound = 0;
  bool optimal() const { return bound >= cost * (1 - 1e-9) - 1e-9; }
  /// (cost - bound) / cost; 0 where both are 0.
  double gap() const { return cost <= 0 ? 0 : (cost - bound) / cost; }
};

/// Indices in range, costs finite and not negative, every node in some group with a choice. Fails
/// with kInvalidArgument naming the place.
Status Validate(const Problem& problem);

/// Recomputes `solution` from the problem alone: each node covered once, each operand's state
/// present, limits kept. Returns its cost. Independent of how it was found.
Result<Cost> Evaluate(const Problem& problem, const Solution& solution);

/// The text form, one item a line, parsed back exactly (costs as shortest round-trip decimals).
std::string Print(const Problem& problem);
Result<Problem> Parse(std::string_view text);
std::string Print(const Problem& problem, const Solution& solution);
Result<Solution> ParseSolution(const Problem& problem, std::string_view text);

}  // namespace fettle::solver
