// Windows of constants.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// The result of a Slice of constants: long ones that lie in one piece share the bytes, others are
/// copied run by run. Nothing where the window is not known, has no elements, or is of elements of
/// less than a byte.
std::optional<Constant> FoldSlice(const ir::Node& node,
                                  const std::vector<std::shared_ptr<const Constant>>& inputs);

}  // namespace fettle::passes
