#include "tensor/sixteen_bits.h"

#include <algorithm>

namespace fettle {

std::optional<DType> SixteenBitsOf(const Constant& constant) {
  if (constant.dtype() == DType::kF16) return DType::kF16;
  const auto* source = dynamic_cast<const SixteenBitSource*>(constant.source());
  if (source == nullptr || source->stored_type() == DType::kUndefined) return std::nullopt;
  return source->stored_type();
}

bool CopySixteenBits(const Constant& constant, bool by_columns, std::byte* out) {
  const auto* source = dynamic_cast<const SixteenBitSource*>(constant.source());
  if (source == nullptr || source->stored_type() == DType::kUndefined ||
      source->lies_by_columns() != by_columns)
    return false;
  std::ranges::copy(constant.raw_bytes(), out);
  return true;
}

}  // namespace fettle
