// What the text form says of one value: its type, its contents, the noise that stands for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/lexer.h"
#include "ir/noise.h"

namespace fettle::ir {

struct ValueType {
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;
  std::vector<std::string> symbols;
};

/// `f32` or `f32[1x3x?'h']`.
Result<ValueType> ParseType(Lexer& lexer);

/// `(low, high)`, behind `noise`.
Result<NoiseRange> ParseNoiseRange(Lexer& lexer);

/// `type`, `type = elements`, `type = splat e` or `type = noise(low, high)`. Elements of noise are
/// taken off `noise_left`; fails where they are more.
Result<Constant> ParseConstant(Lexer& lexer, std::string_view name, int64_t& noise_left);

}  // namespace fettle::ir
