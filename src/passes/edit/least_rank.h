// What is known of ranks where shapes are not known yet.
#pragma once

#include <optional>

#include "passes/edit/editor.h"

namespace fettle::passes {

/// As ScalarFor of the graph, and also where the shape of `x` is unknown: one number in a constant
/// whose axes are no more than `x` has at least, by the operators that make it.
std::optional<double> ScalarFor(const Editor& editor, ir::ValueId id, ir::ValueId x);

}  // namespace fettle::passes
