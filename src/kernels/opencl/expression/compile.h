// From an expression to its text.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/opencl/expression/expression.h"

namespace fettle::kernels {

/// Builds one expression. Values become OpenCL C expressions of type REAL4 (access.clh): a
/// variable, a number that is an argument, or a literal.
class ExpressionCompiler {
 public:
  ExpressionCompiler(const expr::Expr& expr, const ir::Graph& group, const StateAssignment& states);
  Result<Expression> Run();

 private:
  DType dtype(ir::ValueId id) const { return group_.value(id).dtype; }
  const Shape& shape(ir::ValueId id) const { return *group_.value(id).shape; }
  State Like() const;
  Status CheckOutput() const;
  Status CheckState(ir::ValueId id, const State& state) const;
  Result<std::string> Read(const expr::Leaf& leaf);
  Result<std::string> ReadInput(const expr::Leaf& leaf);
  Status CheckPlanes(const Shape& aligned) const;
  std::string ReadConstant(const expr::Leaf& leaf);
  std::string Number(float value);
  std::string AddPixels(Expression::Operand operand, const Shape& aligned, bool packed);
  std::string AddRows(Expression::Operand operand, const Shape& aligned, std::string_view type);
  std::string NewOperand(Expression::Operand operand, const std::string& params,
                         const std::string& read);
  Shape Align(const Shape& shape) const;
  const std::string& ValueOf(expr::Ref ref) const;
  /// print.cc: the expression of an instruction.
  std::string Print(const expr::Inst& inst) const;
  /// Declares a variable with the value of `expression`; returns its name.
  std::string Declare(const std::string& expression);
  void WriteText();
  void JoinRows();

  const expr::Expr& expr_;
  const ir::Graph& group_;
  const StateAssignment& states_;
  State like_;
  Shape full_;
  std::vector<std::string> leaves_, values_;
  int variables_ = 0;
  std::string params_, arguments_, body_;
  Expression made_;
};

/// "1.5f"
std::string Literal(float value);

/// The expression of an instruction of these operands, as many as its function has: REAL4 of REAL4.
std::string PrintInst(const expr::Inst& inst, const std::array<std::string, 3>& operands);

}  // namespace fettle::kernels
