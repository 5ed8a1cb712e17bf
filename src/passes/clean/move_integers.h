// Short lists of integers, and operators that only move them.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// The longest list; other code handles longer ones.
inline constexpr int64_t kMostIntegers = 1 << 16;

/// Elements of one input, int64 or bool, and their shape.
struct IntegerOperand {
  const Shape* shape = nullptr;
  DType dtype = DType::kUndefined;
  const std::byte* data = nullptr;  // unaligned
  bool is_splat = false;            // one element for all

  int64_t operator[](int64_t i) const {
    if (is_splat) i = 0;
    if (dtype == DType::kBool) return data[i] != std::byte{0};
    int64_t value;
    std::memcpy(&value, data + 8 * i, sizeof value);
    return value;
  }
};
using IntegerOperands = std::span<const IntegerOperand>;

/// A node's result; booleans are 0 and 1.
struct ComputedIntegers {
  Shape shape;
  std::vector<int64_t> elements;
};

// Each computes one node. False: other code has to do it.
bool GatherIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed);
bool ConcatIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed);
bool ReshapeIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed);
bool UnsqueezeIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed);
bool SqueezeIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed);
bool SliceIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed);
bool ExpandIntegers(const ir::Node& node, IntegerOperands operands, ComputedIntegers& computed);

}  // namespace fettle::passes
