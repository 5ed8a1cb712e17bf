// Constants of f32 whose elements lie somewhere in 16 bits each.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tensor/tensor.h"

namespace fettle {

/// What a ConstantSource is besides, where it widens a matrix of f16 or bf16. Thread-safe.
class SixteenBitSource {
 public:
  virtual ~SixteenBitSource() = default;
  /// Of what is widened; kUndefined: nothing is.
  virtual DType stored_type() const = 0;
  /// Whether the bytes have the constant's elements by columns.
  virtual bool lies_by_columns() const = 0;
};

/// f16 or bf16, where the constant widens it; kF16 also for constants of that type.
std::optional<DType> SixteenBitsOf(const Constant& constant);

/// The bytes that such a constant widens; empty where it is none, or they lie by columns (or by
/// rows) and `by_columns` says the other.
std::span<const std::byte> SixteenBitBytes(const Constant& constant, bool by_columns);

}  // namespace fettle
