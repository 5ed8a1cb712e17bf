#include "tensor/shape_text.h"

#include <algorithm>
#include <charconv>

namespace fettle {

std::optional<int64_t> ExtentFromText(std::string_view text) {
  int64_t extent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
  if (error != std::errc() || end != text.data() + text.size() || text[0] == '-')
    return std::nullopt;
  return extent;
}

std::optional<Shape> ShapeFromText(std::string_view text) {
  Dims dims;
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    const std::optional<int64_t> extent = ExtentFromText(text.substr(at, end - at));
    if (!extent) return std::nullopt;
    dims.push_back(*extent);
    at = end + 1;
  }
  return Shape(std::move(dims));
}

std::string ShapesText(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : " ") + shape.ToString();
  return text;
}

std::optional<std::vector<Shape>> ShapesFromText(std::string_view text) {
  std::vector<Shape> shapes;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::optional<Shape> shape =
        word == Shape().ToString() ? Shape() : ShapeFromText(word.empty() ? "?" : word);
    if (!shape || !shape->CheckedElements()) return std::nullopt;
    shapes.push_back(*shape);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shapes;
}

}  // namespace fettle
