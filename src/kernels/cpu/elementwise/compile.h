// From the nodes of a group to the instructions of a program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/cpu/elementwise/program.h"
#include "kernels/expr/leaf_forms.h"

namespace fettle::kernels::elementwise {

/// Builds one program. Values become sources; each node adds the instructions of lower.cc, whose
/// destinations are virtual registers until the end.
class Compiler {
 public:
  Compiler(const ir::Graph& group, const StateAssignment& states, Geometry geometry,
           ir::ValueId running);
  Result<Program> Run();

  const ir::Graph& group() const { return group_; }
  DType dtype(ir::ValueId id) const { return group_.value(id).dtype; }
  const Shape& shape(ir::ValueId id) const { return *group_.value(id).shape; }

  /// The source of a value; lowers the node that computes it where that is still to be done.
  Result<Source> Read(ir::ValueId id);
  /// The source of a value of one element or of rank 1 that runs along `axis` of `like`.
  Result<Source> ReadAlongAxis(ir::ValueId id, int axis, const Shape& like);
  /// A constant of `shape` (aligned with the output from the right) made from others.
  Source Derived(std::vector<ir::ValueId> constants, const Shape& shape, std::string recipe,
                 MakeElement make);

  /// Adds an instruction; returns its virtual register.
  Source Emit(Instruction instruction);
  Source Emit(OpCode code, Source a, Source b = {}, Source c = {});

 private:
  Status CheckStates() const;
  void SetDims();
  Status AddOutputs();
  Result<Source> AddOperand(ir::ValueId id, const Shape& shape);
  Source AddConstant(ir::ValueId id, const Shape& shape);
  Layout PackedLayout(const Shape& aligned) const;
  std::vector<int64_t> PackedStrides(const Shape& aligned) const;
  Result<int16_t> NewOperand(Program::Operand operand);
  void Fuse();
  void DropDead();
  Status AssignRegisters();
  void Collapse();
  std::vector<int> Uses() const;

  const ir::Graph& group_;
  const StateAssignment& states_;
  Geometry geometry_;
  ir::ValueId running_;
  Shape full_;
  Layout layout_;          // of the outputs
  PhysicalDims physical_;  // of the outputs: what the program walks
  std::vector<ir::NodeId> producers_;
  std::map<ir::ValueId, Source> sources_;
  std::map<std::string, Source> constants_;
  Status failure_;
  Program program_;
};

/// lower.cc: the instructions of one node; the source of its output.
Result<Source> Lower(Compiler& compiler, const ir::Node& node);

}  // namespace fettle::kernels::elementwise
