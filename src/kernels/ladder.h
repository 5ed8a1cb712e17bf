// The ladder of matrix products of a backend, from naive to tuned. Each step is a kernel of its
// table and adds one optimisation to the step before.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace fettle::kernels {

struct LadderStep {
  std::string_view name;    // what is new about it, for people
  std::string_view kernel;  // KernelDesc::name
  /// Whether states are those of the step, where a kernel has steps of several forms; null: all.
  bool (*is_form)(const StateAssignment& states) = nullptr;
  /// What the step changes of the default parameters.
  std::vector<std::pair<std::string_view, int64_t>> changes = {};
  /// Whether the step is about products of so many rows and columns; null: all.
  bool (*applies)(int64_t m, int64_t n) = nullptr;
};

/// In the order in which they are shown: of floats, and of bytes with constant weights.
struct ProductLadder {
  std::span<const LadderStep> floats, bytes;
};

}  // namespace fettle::kernels
