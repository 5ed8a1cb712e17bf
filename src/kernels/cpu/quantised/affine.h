// Groups of the form [DequantizeLinear,] operator [, QuantizeLinear] whose integers have one scale
// each: what a kernel needs to go from the stored integers to the stored integers.
#pragma once

#include "base/status.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// real = (stored - zero) * scale.
struct AffineType {
  DType storage = DType::kF32;
  float scale = 1, zero = 0;
  bool is_integer() const { return storage != DType::kF32; }
  bool operator==(const AffineType&) const = default;
};

/// A group around one operator. `node` reads `input` and writes `output` of the group, through the
/// conversions if there are any.
struct AffineGroup {
  const ir::Node* node = nullptr;
  ir::ValueId input = ir::kAbsent;   // the value that the group reads in the operator's place 0
  ir::ValueId output = ir::kAbsent;  // the value that the group writes
  AffineType from, to;
  bool is_bare = false;  // integers in and out without conversions around the operator

  /// What takes a result of the operator, computed on stored integers as if they were real numbers
  /// (for operators that commute with x -> (x - zero) * scale), to the stored output: result * mul
  /// + add, rounded and clamped to [least, greatest] where the output is an integer.
  float mul() const { return from.scale / to.scale; }
  float add() const { return to.zero - from.zero * mul(); }
  float least() const;
  float greatest() const;
};

/// Recognises a single operator of a float type, or one between a DequantizeLinear of u8 or i8 and
/// a QuantizeLinear, with constant scalar scales. `op` is checked by the caller. Reduced float
/// types are to be held in fp32. Where `takes_bytes` says so (an operator writes elements of its
/// operand and no others, or its kernel knows how their blends are rounded), it may read and write
/// integers as they are. Fails with kUnsupported and the reason.
Result<AffineGroup> ReadAffineGroup(const ir::Graph& group,
                                    bool (*takes_bytes)(const ir::Node& node) = nullptr);

/// The one constant of a scalar or splat, or a failure.
Result<float> ScalarConstant(const ir::Graph& group, ir::ValueId id);

}  // namespace fettle::kernels
