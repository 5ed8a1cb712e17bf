// Element-wise nodes of a group as straight-line code on fp32 values. Lowered once, whatever the
// states of the operands: the CPU runs it (cpu/elementwise), OpenCL prints it (opencl/expression),
// for chains of such nodes and for epilogues of convolutions and matrix products alike.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/expr/leaf_forms.h"

namespace fettle::kernels::expr {

/// What an instruction computes: a row of fn.inc.
enum class Fn : uint8_t {
#define FN(operands, name, ...) k##name,
#include "kernels/expr/fn.inc"
};

inline constexpr int kOperands[] = {
#define FN(operands, name, ...) operands,
#include "kernels/expr/fn.inc"
};
/// How many operands a function has: 1 to 3.
constexpr int OperandsOf(Fn fn) { return kOperands[static_cast<size_t>(fn)]; }

/// A value of an expression: the result of code[ref], or, where it is negative, leaves[~ref].
using Ref = int;

/// A value that comes from outside: one of the group's inputs, a constant, a number that is the
/// same for all elements, or, where it is none of these, the value that the kernel itself computes.
struct Leaf {
  /// The shape in which it is read, which broadcasts to the output's.
  Shape shape;
  int input = -1;  // in the group's inputs
  std::optional<float> number;
  /// A constant made of the group's; of a number: where it stands, if it stands in the group.
  std::vector<ir::ValueId> constants;
  std::string recipe;
  MakeElement make;

  bool is_running() const { return input < 0 && !number && constants.empty(); }
};

/// fn(args; p0, p1, p2). Arguments are leaves or results of instructions before it.
struct Inst {
  Fn fn = Fn::kCopy;
  std::array<Ref, 3> args{};  // as many as fn has operands
  float p0 = 0, p1 = 0, p2 = 0;
};

/// Immutable once lowered.
struct Expr {
  std::vector<Leaf> leaves;
  std::vector<Inst> code;
  std::vector<Ref> results;  // one per group output
  ir::ValueId running = ir::kAbsent;

  /// Whether a value is the running one.
  bool IsRunning(Ref ref) const {
    return ref < 0 && leaves[static_cast<size_t>(~ref)].is_running();
  }
  /// A value that is a number.
  std::optional<float> NumberAt(Ref ref) const {
    return ref < 0 ? leaves[static_cast<size_t>(~ref)].number : std::nullopt;
  }
};

/// Lowers what computes group.outputs from `running` (a value that the kernel itself computes;
/// ir::kAbsent: none), the group's inputs and its constants. Fails with kUnsupported and the
/// reason: an operator that is not element-wise, a type that fp32 does not hold, a value that is
/// computed at less than the shape of output 0 (it would be computed again for each element it is
/// broadcast to).
Result<Expr> Lower(const ir::Graph& group, ir::ValueId running = ir::kAbsent);

/// The operators that Lower takes in some type, sorted.
std::vector<std::string_view> LoweredOperators();

}  // namespace fettle::kernels::expr
