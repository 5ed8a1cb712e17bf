// Values as messages name them.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace fettle::ir {

/// "1x3x(height)x(width)": its shape, open extents by their names, (?) where they have none.
std::string ShapeText(const Value& value);

/// Whether a tensor of `shape` may be the value: its rank and its known extents are equal.
bool FitsShape(const Value& value, const Shape& shape);

/// kInvalidArgument, saying what was expected, where `shape` is none of `input`.
Status CheckInputShape(const Value& input, const Shape& shape);

/// The names of the values of a list.
std::vector<std::string> NamesOfValues(const Graph& graph, const std::vector<ValueId>& ids);

}  // namespace fettle::ir
