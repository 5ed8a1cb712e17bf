// Shapes as people and files write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace fettle {

/// "224": digits alone; nothing where the number does not fit.
std::optional<int64_t> ExtentFromText(std::string_view text);
/// "1x3x224x224"; "" is a scalar.
std::optional<Shape> ShapeFromText(std::string_view text);

/// "1x3x32x32 scalar 1x10", and back.
std::string ShapesText(const std::vector<Shape>& shapes);
std::optional<std::vector<Shape>> ShapesFromText(std::string_view text);

}  // namespace fettle
