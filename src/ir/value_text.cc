#include "ir/value_text.h"

#include <fmt/format.h>

namespace fettle::ir {

std::string ShapeText(const Value& value) {
  if (!value.shape) return "any shape";
  std::string text;
  for (int axis = 0; axis < value.shape->rank(); ++axis) {
    const auto at = static_cast<size_t>(axis);
    const bool named = at < value.symbols.size() && !value.symbols[at].empty();
    const int64_t extent = (*value.shape)[axis];
    if (axis > 0) text += 'x';
    text += extent >= 0 ? fmt::format("{}", extent)
                        : fmt::format("({})", named ? value.symbols[at] : "?");
  }
  return text.empty() ? "scalar" : text;
}

bool FitsShape(const Value& value, const Shape& shape) {
  if (!value.shape) return true;
  bool fits = shape.rank() == value.shape->rank();
  for (int axis = 0; fits && axis < shape.rank(); ++axis)
    fits = (*value.shape)[axis] < 0 || (*value.shape)[axis] == shape[axis];
  return fits;
}

Status CheckInputShape(const Value& input, const Shape& shape) {
  if (FitsShape(input, shape)) return OkStatus();
  return InvalidArgument("input '{}': expected {}, got {}", input.name, ShapeText(input),
                         shape.ToString());
}

std::vector<std::string> NamesOfValues(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

}  // namespace fettle::ir
