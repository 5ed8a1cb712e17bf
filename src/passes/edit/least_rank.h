// Ranks that are known where shapes are not known yet.
#pragma once

#include <optional>

#include "passes/edit/editor.h"

namespace fettle::passes {

/// As ScalarFor of the graph, but also where the shape of `x` is unknown: one number in a constant
/// that has no more axes than `x` has at least, by the operators that make `x`.
std::optional<double> ScalarFor(const Editor& editor, ir::ValueId id, ir::ValueId x);

}  // namespace fettle::passes
