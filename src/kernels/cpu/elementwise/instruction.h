// The instructions of element-wise programs and the window on memory that each works on.
#pragma once

#include <cstdint>
#include <span>

#include "ops/elementwise/op.h"
#include "tensor/dtype.h"

namespace fettle::kernels::elementwise {

/// Elements of one chunk: registers of this size stay in the first-level cache.
inline constexpr int64_t kChunk = 1024;
/// Values that may be alive at once inside a program.
inline constexpr int kMaxRegisters = 6;

enum class OpCode : uint8_t {
  // a
  kCopy,
  kAbs,
  kNeg,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kSign,
  kSqrt,
  kReciprocal,
  kExp,
  kLog,
  kErf,
  kTanh,
  kSigmoid,
  kSin,
  kCos,
  kRelu,
  kLeakyRelu,    // p0: slope
  kElu,          // p0: alpha, p1: factor of the input, p2: factor of the result
  kHardSigmoid,  // p0: alpha, p1: beta
  kHardSwish,
  kSwish,  // p0: alpha
  kMish,
  kSoftplus,
  kSoftsign,
  kThreshold,  // p0: alpha
  kGeluErf,
  kGeluTanh,
  kNot,
  kIsNaN,
  kIsInf,  // p0, p1: whether negative, positive infinities count
  kClip,   // p0: least, p1: greatest
  kToInt,  // truncates; p0, p1: range of the type
  kToBool,

  // a, b
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPRelu,
  kEqual,
  kLess,
  kLessOrEqual,
  kAnd,
  kOr,
  kXor,
  kScalar,  // unary(a) or fold(a, b), element by element
  // a, b, c
  kMulAdd,      // a * b + c
  kWhere,       // a ? b : c
  kClip3,       // min(max(a, b), c)
  kQuantise,    // clamp(round(a / b) + c) to p0 .. p1
  kDequantise,  // (a - b) * c
};

/// Where an instruction reads from.
struct Source {
  enum Kind : uint8_t { kNone, kRegister, kOperand, kImmediate } kind = kNone;
  int16_t index = 0;
  float value = 0;
};

/// dst = code(a, b, c; p0, p1, p2). `output` >= 0: the result goes to that output, not to a
/// register.
struct Instruction {
  OpCode code = OpCode::kCopy;
  int16_t dst = 0;
  int16_t output = -1;
  Source a, b, c;
  float p0 = 0, p1 = 0, p2 = 1;
  /// For kScalar, one of the two.
  double (*unary)(double, const ops::ElementwiseParams&) = nullptr;
  double (*fold)(double, double, const ops::ElementwiseParams&) = nullptr;
  ops::ElementwiseParams params;
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
