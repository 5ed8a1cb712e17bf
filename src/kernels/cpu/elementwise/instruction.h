// The instructions of element-wise programs and the window on memory that each works on.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/expr/expr.h"
#include "tensor/dtype.h"

namespace fettle::kernels::elementwise {

/// Elements of one chunk: registers of this size stay in the first-level cache.
inline constexpr int64_t kChunk = 1024;
/// Values that may be alive at once inside a program.
inline constexpr int kMaxRegisters = 6;

using expr::Fn;

/// Where an instruction reads from.
struct Source {
  enum Kind : uint8_t { kNone, kRegister, kOperand, kImmediate } kind = kNone;
  int16_t index = 0;
  float value = 0;
};

/// dst = fn(a, b, c; p0, p1, p2). `output` >= 0: the result goes to that output, not to a register.
struct Instruction {
  Fn fn = Fn::kCopy;
  int16_t dst = 0;
  int16_t output = -1;
  Source a, b, c;
  float p0 = 0, p1 = 0, p2 = 0;
};

/// A two-dimensional window on memory; strides in elements. `col_stride` 0 repeats one element.
struct Window {
  const void* data = nullptr;
  int64_t row_stride = 0;
  int64_t col_stride = 0;
  DType storage = DType::kF32;
};

/// Runs all instructions on `rows` x `cols` elements. `operands` and `outputs` are windows at the
/// rectangle's first element.
void Execute(std::span<const Instruction> instructions, std::span<const Window> operands,
             std::span<const Window> outputs, int64_t rows, int64_t cols);

}  // namespace fettle::kernels::elementwise
