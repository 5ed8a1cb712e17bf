// Values as messages name them.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace fettle::ir {

/// "1x3x(height)x(width)": its shape, open extents by their names, (?) where they have none.
std::string ShapeText(const Value& value);

/// The names of the values of a list.
std::vector<std::string> NamesOfValues(const Graph& graph, const std::vector<ValueId>& ids);

}  // namespace fettle::ir
