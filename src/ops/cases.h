// The table of cases that tests and benchmarks multiply by kernels, layouts, storage types and
// devices.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace fettle::ops {

/// A case is a small graph in the text form of ir/text.h with concrete inputs: one operator, or a
/// group such as convolution + activation. Types of node outputs may be left out. Constants without
/// contents are seeded noise.
struct Case {
  std::string_view name;  // "<family>.<what it stresses>"
  std::string_view graph;
  /// Large enough to be worth timing.
  bool bench = false;
};

/// All cases of all families.
std::vector<Case> AllCases();

}  // namespace fettle::ops
