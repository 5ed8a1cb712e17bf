// Constants of f32 in fewer bytes than floats take, which are made floats when they are read.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace fettle {

/// Two values for each slice and a bit for each element; halves; a step for each slice and the i8
/// that multiplies it.
enum class CompactForm : uint8_t { kBits, kHalves, kBytes };

/// Element i is of slice (i / inner) % slices: those of one index on an axis.
struct CompactLayout {
  CompactForm form = CompactForm::kHalves;
  int64_t slices = 1, inner = 1;
  bool operator==(const CompactLayout&) const = default;

  /// Of f32 of `shape` with a slice for each index on `axis`.
  static CompactLayout Along(CompactForm form, const Shape& shape, int axis);
  /// What `elements` take: the slices' floats, then the elements.
  int64_t Bytes(int64_t elements) const;
};

/// A layout that holds a constant of f32 exactly, bit for bit: bits where all elements, or those of
/// each index on one axis, are one of two floats; halves. What is compact already keeps its own.
/// Nothing for other types, for splats, and where floats are what it takes.
std::optional<CompactLayout> FindCompact(const Constant& constant);

/// The form that a constant of f32 is in already; none for others. Reads no element.
std::optional<CompactForm> CompactFormOf(const Constant& constant);

/// The bytes of a constant of f32 in a layout: exact where FindCompact found it, else rounded to
/// the nearest (bytes: to steps of the slice's largest magnitude / 127). Fails with kOutOfMemory.
Result<Tensor> PackCompact(const Constant& constant, const CompactLayout& layout);

/// A constant of f32 over such bytes, `packed`, which it shares; slices and inner are positive.
Constant FromCompact(const Shape& shape, const CompactLayout& layout, const Constant& packed);

}  // namespace fettle
