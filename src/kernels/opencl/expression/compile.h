// From the nodes of a group to the text of an expression.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/expr/leaf_forms.h"
#include "kernels/opencl/expression/expression.h"

namespace fettle::kernels {

/// Builds one expression. Values become OpenCL C expressions of type REAL4 (access.clh): a
/// variable, a number that is an argument, or a literal.
class ExpressionCompiler {
 public:
  ExpressionCompiler(const ir::Graph& group, const StateAssignment& states, ir::ValueId running);
  Result<Expression> Run();

  const ir::Graph& group() const { return group_; }
  DType dtype(ir::ValueId id) const { return group_.value(id).dtype; }
  const Shape& shape(ir::ValueId id) const { return *group_.value(id).shape; }

  /// The expression of a value; writes out the node that computes it where that is still to be
  /// done.
  Result<std::string> Read(ir::ValueId id);
  /// Of a value of one element or of rank 1 that runs along `axis` of `like`.
  Result<std::string> ReadAlongAxis(ir::ValueId id, int axis, const Shape& like);
  /// A constant of `shape` (aligned with the output from the right) made from others.
  Result<std::string> Derived(std::vector<ir::ValueId> constants, const Shape& shape,
                              const std::string& recipe, const MakeElement& make);
  /// Declares a variable with the value of `expression`, of REAL4; returns its name.
  std::string Emit(const std::string& expression);
  /// Of one operation on values.
  std::string EmitSimple(const std::string& operation) {
    return Emit("ROUNDED(" + operation + ", 4)");
  }
  /// Of float4, made from Wide() values.
  std::string EmitWide(const std::string& expression) {
    return Emit("NARROW(" + expression + ", 4)");
  }
  static std::string Wide(const std::string& value) { return "WIDE(" + value + ", 4)"; }

 private:
  State Like() const;
  Status CheckOutput() const;
  Status CheckState(ir::ValueId id, const State& state) const;
  Result<std::string> ReadOperand(ir::ValueId id, const Shape& shape);
  std::string AddPixels(Expression::Operand operand, const Shape& aligned, bool packed);
  std::string AddRows(Expression::Operand operand, const Shape& aligned, std::string_view type);
  Shape Align(const Shape& shape) const;
  std::string Number(float value);
  std::string NewOperand(Expression::Operand operand, const std::string& params,
                         const std::string& read);
  void JoinRows();

  const ir::Graph& group_;
  const StateAssignment& states_;
  ir::ValueId running_;
  State like_;
  Shape full_;
  std::vector<ir::NodeId> producers_;
  std::map<ir::ValueId, std::string> values_;
  std::map<std::string, std::string> constants_;
  int variables_ = 0;
  std::string params_, arguments_, body_;
  Expression made_;
};

/// "LITERAL4(1.5f)"
std::string Literal4(float value);
/// "1.5f"
std::string Literal(float value);

/// lower.cc: writes out one node; the expression of its output.
Result<std::string> LowerToText(ExpressionCompiler& compiler, const ir::Node& node);

}  // namespace fettle::kernels
