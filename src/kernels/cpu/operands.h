// Operands of a single node at launch: bound by the caller, or constants packed row-major.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/cpu_kernel.h"

namespace fettle::kernels {

/// A constant of the group packed as it is, row-major: the form that all kernels share which read
/// it so.
PackRequest PackedAsIs(const ir::Graph& group, ir::ValueId id);
/// The same, but halves become fp32.
PackRequest PackedAsFloats(const ir::Graph& group, ir::ValueId id);

/// Where each operand of the group's one node comes from. Constants are packed as they are, in the
/// form that the reference shares. Absent operands have null locations.
class NodeOperands {
 public:
  explicit NodeOperands(const ir::Graph& group);

  using Pack = PackRequest(const ir::Graph& group, ir::ValueId id);
  std::vector<PackRequest> packs(const ir::Graph& group, Pack* pack = PackedAsIs) const;
  const std::byte* input(const LaunchArgs& args, size_t i) const;
  std::byte* output(const LaunchArgs& args, size_t i) const;
  /// Which of the group's inputs operand `i` is; -1: constant or absent.
  int bound(size_t i) const { return i < inputs_.size() ? inputs_[i].bound : -1; }

 private:
  struct Source {
    int bound = -1;   // in the group's inputs or outputs
    int packed = -1;  // in constants_
  };
  std::vector<Source> inputs_, outputs_;
  std::vector<ir::ValueId> constants_;
};

/// A kernel of one node, whose constants are packed as they are.
class NodeKernel : public CpuKernel {
 public:
  explicit NodeKernel(const Problem& problem)
      : CpuKernel(problem.threads), group_(problem.group), operands_(*problem.group) {}

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }

 protected:
  const ir::Graph& group() const { return *group_; }
  const NodeOperands& operands() const { return operands_; }

 private:
  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
};

/// OK where kernels hold `dtype` as fp32: f32, f16 and bf16.
Status CheckFloat(DType dtype);

/// The state of operand `i` (an input, or an output) of the node: row-major, of its own type, where
/// it is a constant.
State InputState(const ir::Graph& group, const StateAssignment& states, size_t i);
State OutputState(const ir::Graph& group, const StateAssignment& states, size_t i);

/// RowMajorStates where halves are held as fp32. Constants stay what they are.
StateAssignment WidenedStates(const ir::Graph& group);

}  // namespace fettle::kernels
