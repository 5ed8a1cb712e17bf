#include "tensor/sixteen_bits.h"

namespace fettle {

std::optional<DType> SixteenBitsOf(const Constant& constant) {
  if (constant.dtype() == DType::kF16) return DType::kF16;
  const auto* source = dynamic_cast<const SixteenBitSource*>(constant.source());
  if (source == nullptr || source->stored_type() == DType::kUndefined) return std::nullopt;
  return source->stored_type();
}

std::span<const std::byte> SixteenBitBytes(const Constant& constant, bool by_columns) {
  const auto* source = dynamic_cast<const SixteenBitSource*>(constant.source());
  if (source == nullptr || source->stored_type() == DType::kUndefined ||
      source->lies_by_columns() != by_columns)
    return {};
  return constant.raw_bytes();
}

}  // namespace fettle
