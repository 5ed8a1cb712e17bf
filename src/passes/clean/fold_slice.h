// Windows of constants.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// The result of a Slice of constants. A long result that lies in one piece shares the bytes;
/// others are copied run by run. Nothing where the window is unknown or empty, or elements are
/// smaller than a byte.
std::optional<Constant> FoldSlice(const ir::Node& node,
                                  const std::vector<std::shared_ptr<const Constant>>& inputs);

}  // namespace fettle::passes
