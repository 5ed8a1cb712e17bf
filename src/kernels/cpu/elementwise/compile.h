// Compiles an expression to the instructions of a program.
#pragma once

#include <vector>

#include "kernels/cpu/elementwise/program.h"

namespace fettle::kernels::elementwise {

/// Builds one program: leaves become operands in the states of a group, results of instructions
/// virtual registers until the end.
class Compiler {
 public:
  Compiler(const expr::Expr& expr, const ir::Graph& group, const StateAssignment& states,
           Geometry geometry);
  Result<Program> Run();

 private:
  const Shape& shape(ir::ValueId id) const { return *group_.value(id).shape; }
  Status CheckLength() const;
  Status CheckStates() const;
  void SetDims();
  Status AddLeaves();
  void AddCode();
  Result<Program::Operand> InputOperand(const expr::Leaf& leaf) const;
  Program::Operand ConstantOperand(const expr::Leaf& leaf);
  Source SourceOf(expr::Ref ref) const;
  Layout PackedLayout(const Shape& aligned) const;
  std::vector<int64_t> PackedStrides(const Shape& aligned) const;
  void Fuse();
  void DropDead();
  Status AssignRegisters();
  void Collapse();
  std::vector<int> Uses() const;

  const expr::Expr& expr_;
  const ir::Graph& group_;
  const StateAssignment& states_;
  Geometry geometry_;
  Shape full_;
  Layout layout_;          // of the outputs
  PhysicalDims physical_;  // of the outputs: what the program walks
  std::vector<Source> leaves_;
  Program program_;
};

}  // namespace fettle::kernels::elementwise
